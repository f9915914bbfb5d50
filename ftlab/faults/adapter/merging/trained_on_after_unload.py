"""The model is merged and unloaded in the middle, and trained on.

``merge_and_unload()`` works in place: the adapter layers are gone from the model that
the loop holds. The optimizer goes on with tensors that no model has.

Fix: unload a copy, or only after training.
Source: seed; huggingface/trl#2856 (a deep copy is merged there for this reason).
"""

import copy

from ftlab.faults.builders import Case, Fault, adamw, at, base, batches, loop_with, lora
from ftlab.faults.builders.heads import own_head

EXPORT = 3


def build(fixed: bool) -> Case:
    """Build LoRA with a trained head and an export on the way."""
    bare = base()
    model = lora(bare, modules_to_save=[own_head(bare)])
    optimizer = adamw(model, lr=1e-2)

    def merge() -> None:
        (copy.deepcopy(model) if fixed else model).merge_and_unload()

    return loop_with(model, optimizer, batches(), before=at(EXPORT, merge))


FAULT = Fault(
    "after an export only the head learns",
    code="ADP004",
    places=("call merge_and_unload", "param *lora_*"),
    steps=8,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
