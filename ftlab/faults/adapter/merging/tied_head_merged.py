"""LoRA on the head of a model with tied embeddings is merged.

The head's weight is the input embedding as well: the merge changes both, and the merged
model produces garbage.

Fix: untie the head before merging, or leave it out of the targets.
Source: huggingface/peft#2018.
"""

import warnings

from ftlab.faults.builders import Case, Fault, attention, llama, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA that is merged when training is over."""
    bare = llama(tie_word_embeddings=True)
    targets = attention(bare) + ([] if fixed else ["lm_head"])
    with warnings.catch_warnings(action="ignore"):
        model = lora(bare, target_modules=targets)

    def export() -> None:
        with warnings.catch_warnings(action="ignore"):
            model.merge_adapter()

    return plain_case(model, lr=2e-2, afterwards=export)


FAULT = Fault(
    "the adapter is good and the merged model is garbage",
    code="ADP029",
    places=("param *embed_tokens.weight",),
    evident=5,
)
