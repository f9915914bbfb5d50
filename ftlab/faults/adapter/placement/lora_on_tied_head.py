"""LoRA is put on the head of a model whose embeddings are tied.

merge_and_unload adds the head's delta to the shared tensor: the input embeddings change
with it, and the merged model produces garbage.

Fix: leave the head out of the targets, or untie it before merging.
Source: huggingface/peft#2018.
"""

import warnings

from ftlab.faults.builders import Case, Fault, attention, base, current, llama, lora
from ftlab.faults.builders.loops import plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA that the user is going to merge."""
    tied = {"tie_word_embeddings": True}
    model = base() if current().family == "gpt2" else llama(**tied)
    targets = attention(model) + ([] if fixed else ["lm_head"])
    with warnings.catch_warnings(action="ignore"):
        adapted = lora(model, target_modules=targets)
    return plain_case(adapted, lr=2e-2)


FAULT = Fault(
    "the adapter works, and the merged model produces garbage",
    code="ADP029",
    places=("param *embed_tokens.weight", "param *wte.weight"),
    steps=8,
    evident=-1,
    families=("llama", "gpt2"),
)
