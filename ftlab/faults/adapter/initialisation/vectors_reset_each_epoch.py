"""IA3's vectors are set back to 1 at each epoch.

Fix: ``reset_ia3_parameters`` belongs where the adapter is made, not into the loop.
Source: a callback that resets "the adapter" whatever it is, met with LoRA as well.
"""

from typing import Any

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.methods import rescaled
from ftlab.faults.builders.tiny import adamw, batches
from ftlab.faults.fault import Case, Fault

EPOCH = 8


def build(fixed: bool) -> Case:
    """Build IA3, and a loop that resets it after each epoch."""
    model = rescaled()
    optimizer = adamw(model, lr=1e-2)
    inner = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        if not fixed and case.losses and len(case.losses) % EPOCH == 0:
            reset(model)
        return inner(batch)

    case = Case(model, optimizer, batches(EPOCH), step)
    return case


def reset(model: Any) -> None:
    """Set every vector back to 1."""
    from peft.tuners.ia3 import IA3Layer

    for module in model.modules():
        if isinstance(module, IA3Layer):
            for adapter in module.ia3_l:
                module.reset_ia3_parameters(adapter)


FAULT = Fault(
    "vectors-reset-each-epoch",
    "IA3 learns in one epoch what it has learned in the one before",
    code="ADP037",
    places=("module *",),
    builder=build,
    steps=28,
    evident=8,
    families=("llama", "gpt2", "neox", "own"),
)
