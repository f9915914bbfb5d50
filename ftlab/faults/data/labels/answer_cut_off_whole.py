"""Now and then the prompt alone fills the row: no label is left, and the loss is NaN.

Rows are trained one at a time. The one whose answer was cut off has a mean over
nothing, and every weight is NaN after it.

Fix: leave such rows out, or cut the prompt instead of the answer.

Source: MakazhanAlpamys/Soup#532, unslothai/unsloth#2095, huggingface/trl#980.
"""

from ftlab.faults.builders import Case, Fault, llama, plain_case, set_seed
from ftlab.faults.builders.chats import answers_only, chats, tokenizer

LONGEST = 40
"""Tokens of a row."""


def build(fixed: bool) -> Case:
    """Train on rows of which the third is cut behind its prompt."""
    import torch

    made = tokenizer()
    talks = chats(8)
    talks[2][0]["content"] = " ".join(each[0]["content"] for each in talks)
    set_seed(0)
    model = llama(vocab_size=len(made), max_position_embeddings=256)
    rows = answers_only(made, talks)
    if fixed:
        del rows[2]
    batches = [
        {name: torch.tensor([ids[:LONGEST]]) for name, ids in row.items()}
        for row in rows
    ]
    return plain_case(model, rows=batches)


FAULT = Fault(
    "the loss is NaN from the third step on",
    code="DAT004",
    places=("sample 0",),
    steps=8,
    evident=2,
)
