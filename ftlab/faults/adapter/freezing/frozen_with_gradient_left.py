"""A weight is frozen after backward, and its gradient stays.

``requires_grad_(False)`` keeps ``.grad``. With ``set_to_none=False`` a momentum, or the
gradient itself, goes on changing the weight that is frozen.

Fix: set ``.grad = None`` as well, or build the optimizer anew.
Source: seed; pytorch's optimizers update whatever has a gradient.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, base, batches

FREEZE = 3


def build(fixed: bool) -> Case:
    """Build full fine-tuning that freezes its first block on the way."""
    model = base()
    optimizer = adamw(model)
    first = next(m for n, m in model.named_modules() if n.endswith(".0"))

    def freeze() -> None:
        for weight in first.parameters():
            weight.requires_grad_(False)
            if fixed:
                weight.grad = None

    def step(batch: Any) -> float:
        optimizer.zero_grad(set_to_none=False)
        loss = model(**batch).loss
        loss.backward()
        if len(case.losses) == FREEZE:
            freeze()
        optimizer.step()
        return float(loss.detach())

    case = Case(model, optimizer, batches(), step)
    return case


FAULT = Fault(
    "a frozen block goes on changing",
    code="ADP007",
    places=("param *",),
    steps=10,
    evident=4,
    families=("llama", "gpt2", "neox", "own"),
)
