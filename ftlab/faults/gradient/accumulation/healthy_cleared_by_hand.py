"""Gradients are cleared by hand, in the old way that torch does not hear of.

``p.grad.data.zero_()`` writes zeros past autograd: the gradients stay where they are,
and no write is counted.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, trainable


def build() -> Case:
    """Build LoRA in a loop that changes its way of clearing."""
    model = lora()
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        for weight in trainable(model):
            turn = len(case.losses) // 20 % 3
            if turn == 0 and weight.grad is not None:
                weight.grad.data.zero_()
            elif turn == 1 and weight.grad is not None:
                weight.grad.zero_()
            else:
                weight.grad = None
        return float(loss.detach())

    case = Case(model, optimizer, batches(), step)
    return case


HEALTHY = Healthy(
    "zero_grad is never called",
    looks_like=("GRD005",),
    steps=80,
)
