"""A padding token is added to the tokenizer, and the first padded batch fails.

The model keeps its embedding. "index out of range in self" says neither which token nor
which sample; on CUDA it is a device-side assert somewhere else.

Fix: ``model.resize_token_embeddings(len(tokenizer))``.

Source: meta-llama/llama-cookbook#189, huggingface/transformers#1848, #24698.
"""

from typing import Any

from ftlab.faults.builders.chats import tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Add a token for padding when the model is there."""
    made = tokenizer()
    rows = whole(made)
    case = trained_on(made, rows)
    made.add_special_tokens({"pad_token": "<padding>"})
    model: Any = case.model
    if fixed:
        model.resize_token_embeddings(len(made), mean_resizing=False)
    return case


FAULT = Fault(
    "the first padded batch ends the run: index out of range in self",
    code="DAT002",
    places=("token * of sample *",),
    evident=-1,
    silent=False,
)
