"""After the first evaluation dropout is off for good: the model overfits.

``model.eval()`` for an evaluation in the middle of an epoch, while ``model.train()``
stands at the epoch's beginning. Gradient checkpointing of transformers is off as well.

Fix: ``model.train()`` after each evaluation.
Source: shubhamagarwal92/mmd#14, tk-rusch/coRNN#1, callummcdougall/ARENA_3.0#179.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, at, batches, loop_with, lora

EVALUATED = 3
"""The step before which the model is evaluated."""


def build(fixed: bool) -> Case:
    """Evaluate once, and go back to training mode or not."""
    model = lora(lora_dropout=0.3).train()
    optimizer = adamw(model)
    made = batches()

    def evaluate() -> None:
        model.eval()
        with torch.no_grad():
            model(**made[EVALUATED])
        if fixed:
            model.train()

    return loop_with(model, optimizer, made, before=at(EVALUATED, evaluate))


FAULT = Fault(
    "dropout does nothing after the first evaluation",
    code="MOD006",
    places=("call model.eval",),
    steps=8,
    evident=EVALUATED + 1,
    families=("llama", "gpt2", "neox", "own"),
)
