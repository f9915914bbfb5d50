"""The adapter is merged for a fast evaluation and not unmerged.

A merged layer runs its base layer alone: the adapter is not in the graph any more. The
head that is trained as well goes on learning, so the loss moves.

Fix: call ``unmerge_adapter()`` after the evaluation, in ``finally``.
Source: seed; huggingface/trl#2873, huggingface/peft#2437.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, at, base, batches, loop_with, lora
from ftlab.faults.builders.heads import own_head

EVALUATION = 2


def build(fixed: bool) -> Case:
    """Build LoRA with a head, and an evaluation of the merged model."""
    bare = base()
    model = lora(bare, modules_to_save=[own_head(bare)])
    optimizer = adamw(model, lr=1e-2)
    made = batches()

    @torch.no_grad()
    def evaluate() -> None:
        model.merge_adapter()
        model(**made[EVALUATION])
        if fixed:
            model.unmerge_adapter()

    return loop_with(model, optimizer, made, before=at(EVALUATION, evaluate))


FAULT = Fault(
    "the adapter stops learning after an evaluation",
    code="ADP004",
    places=("module *.*", "call merge_adapter"),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
