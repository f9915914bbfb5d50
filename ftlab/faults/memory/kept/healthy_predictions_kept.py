"""A metric keeps the predicted tokens of the latest step; its logits are let go."""

from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora


def build() -> Case:
    """Build a loop whose predictions are asked for after the step."""
    model = lora()
    optimizer = adamw(model)
    latest: dict[str, Any] = {}

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        outputs = model(**batch)
        outputs.loss.backward()
        optimizer.step()
        latest["predicted"] = outputs.logits.argmax(-1)
        return float(outputs.loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "something of the model's outputs is still there when the next step begins",
    looks_like=("MEM002",),
    steps=20,
)
