"""Two adapters that are trained in turn, each with its own optimizer.

While one learns the other one is frozen, has no gradient and is 0.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora

TURN = 100


def build() -> Case:
    """Build two adapters and change over after some steps."""
    model = lora()
    model.add_adapter("second", model.peft_config["default"])
    first = adamw(model)
    model.set_adapter("second")
    second = adamw(model)
    model.set_adapter("default")

    def step(batch: Any) -> float:
        if len(case.losses) == TURN:
            model.set_adapter("second")
        optimizer = first if len(case.losses) < TURN else second
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    case = Case(model, [first, second], batches(), step)
    return case


HEALTHY = Healthy(
    "one adapter is frozen and 0 while the other one learns",
    looks_like=("ADP001", "GRD003", "OPT002", "ADP008"),
)
