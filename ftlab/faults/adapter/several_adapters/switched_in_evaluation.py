"""An evaluation chooses the reference adapter, and it stays the active one.

``set_adapter`` also freezes the other one. The loss is computed with the reference
while the optimizer holds the adapter that is frozen now.

Fix: set the adapter back after the evaluation.
Source: seed; huggingface/trl#4723, huggingface/peft#2759.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, current, lora
from ftlab.faults.builders.around import at, loop_with

EVALUATION = 3


def build(fixed: bool) -> Case:
    """Build an adapter and a reference, which an evaluation compares."""
    model, own = lora(), current().adapter
    model.add_adapter("reference", model.peft_config[own])
    model.set_adapter(own)
    optimizer = adamw(model, lr=1e-2)
    made = batches()

    def evaluate() -> None:
        model.set_adapter("reference")
        with torch.no_grad():
            model(**made[EVALUATION])
        if fixed:
            model.set_adapter(own)

    return loop_with(model, optimizer, made, before=at(EVALUATION, evaluate))


FAULT = Fault(
    "nothing is learnt any more after an evaluation",
    code="ADP008",
    places=("param *lora_*.reference.*", "call set_adapter"),
    steps=8,
    evident=3,
    also=("OPT002",),
    families=("llama", "gpt2", "neox", "own"),
)
