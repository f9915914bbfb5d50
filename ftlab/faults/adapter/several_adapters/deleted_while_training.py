"""The adapter that is trained is deleted to make room, and another one takes over.

PEFT makes a remaining adapter the active one, with a warning. The optimizer holds the
tensors of the deleted one.

Fix: build the optimizer anew after delete_adapter.
Source: seed; peft 0.21, ``BaseTunerLayer.delete_adapter``; huggingface/peft#1303.
"""

import warnings

from ftlab.faults.builders import Case, Fault, adamw, batches, current, lora
from ftlab.faults.builders.around import at, loop_with

CLEANUP = 3


def build(fixed: bool) -> Case:
    """Build two adapters, of which one is deleted on the way."""
    model, own = lora(), current().adapter
    model.add_adapter("spare", model.peft_config[own])
    optimizer = adamw(model, lr=1e-2)

    def clean() -> None:
        with warnings.catch_warnings(action="ignore"):
            model.delete_adapter("spare" if fixed else own)

    return loop_with(model, optimizer, batches(), before=at(CLEANUP, clean))


FAULT = Fault(
    "the loss stays where it was after a clean-up",
    code="ADP008",
    places=("param *lora_*.spare.*", "call delete_adapter"),
    steps=8,
    evident=3,
    also=("OPT001", "OPT002"),
    families=("llama", "gpt2", "neox", "own"),
)
