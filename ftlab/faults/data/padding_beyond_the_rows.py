"""The padding token of the folder's tokenizer has no row in the model.

It was added to the tokenizer that was saved, and the model of the same folder was never
resized. As long as all rows of a batch are of one length nothing raises.

Fix: ``model.resize_token_embeddings(len(tokenizer))``.

Source: meta-llama/llama-cookbook#189, huggingface/transformers#1848.
"""

from ftlab.faults.chats import answers_only, chats, sized, tokenizer
from ftlab.faults.fault import Case, Fault
from ftlab.faults.tokenizer_folders import loaded, looped

LENGTH = 24


def build(fixed: bool) -> Case:
    """Train rows of one length, with a padding token that nothing needs yet."""
    first = tokenizer()
    model = sized(first)
    if not fixed:
        first.add_special_tokens({"pad_token": "<padding>"})
    made = loaded(first)
    rows = [
        {name: ids[-LENGTH:] for name, ids in row.items()}
        for row in answers_only(made, chats(words=(12, 12)))
    ]
    return looped(made, model, rows)


FAULT = Fault(
    "padding-beyond-the-rows",
    "the first batch with padding will end the run",
    code="DAT078",
    places=("object the model",),
    builder=build,
    steps=2,
)
