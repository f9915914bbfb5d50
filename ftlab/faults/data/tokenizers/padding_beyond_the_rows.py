"""The padding token of the folder's tokenizer has no row in the model.

It was added to the tokenizer that was saved, and the model of the same folder was never
resized. As long as a batch is one row nothing raises.

Fix: ``model.resize_token_embeddings(len(tokenizer))``.

Source: meta-llama/llama-cookbook#189, huggingface/transformers#1848.
"""

from ftlab.faults.builders.chats import sized, tokenizer
from ftlab.faults.builders.tokenizer_folders import loaded, looped
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Train one row at a time, with a padding token that nothing needs yet."""
    first = tokenizer()
    model = sized(first)
    if not fixed:
        first.add_special_tokens({"pad_token": "<padding>"})
    made = loaded(first)
    return looped(made, model, size=1)


FAULT = Fault(
    "the first batch with padding will end the run",
    code="DAT073",
    places=("object the model",),
    steps=2,
)
