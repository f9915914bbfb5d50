"""AdaLoRA's allocator is called after the gradients were cleared to 0.

What a rank is worth is its weight times its gradient. With gradients of 0 all are worth
0, and all fall below the bar: the adapter is emptied at each allocation.

Fix: call ``update_and_allocate`` after ``optimizer.step()`` and before ``zero_grad``.
Source: the docstring of peft's ``AdaLoraModel.update_and_allocate``; with
``set_to_none=True`` it raises, with ``False`` it does not.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches
from ftlab.faults.builders.methods import ranked

STEPS = 24


def build(fixed: bool) -> Case:
    """Build a loop that calls the allocator before or after zero_grad."""
    model = ranked(STEPS)
    optimizer = adamw(model, lr=5e-3)

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        if not fixed:
            optimizer.zero_grad(set_to_none=False)
        model.base_model.update_and_allocate(len(case.losses) + 1)
        optimizer.zero_grad(set_to_none=False)
        return float(loss.detach())

    case = Case(model, optimizer, batches(), step)
    return case


FAULT = Fault(
    "the loss jumps back to that of the base model again and again",
    code="ADP036",
    places=("call update_and_allocate",),
    steps=STEPS,
    evident=8,
    families=("llama", "gpt2", "neox"),
)
