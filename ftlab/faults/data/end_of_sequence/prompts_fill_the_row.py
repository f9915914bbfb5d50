"""Long questions teach nothing: rows end before their answers begin.

Prompt and answer are cut at a maximal length together. Where the prompt alone is
longer, all labels of the row are -100, and the others hide it.

Fix: a greater ``max_length``, or leave out what does not fit.

Source: huggingface/trl#3927.
"""

from ftlab.faults.builders.chats import answers_only, chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault

LONGEST = 60
"""Tokens of a row."""


def build(fixed: bool) -> Case:
    """Cut rows, of which each fourth has a long question."""
    made = tokenizer()
    talks = chats()
    for question, _ in talks[1::4]:
        question["content"] = " ".join([question["content"]] * 12)
    rows = [
        {name: ids if fixed else ids[:LONGEST] for name, ids in row.items()}
        for row in answers_only(made, talks)
    ]
    return trained_on(made, rows)


FAULT = Fault(
    "what was asked at length is answered as before the training",
    code="DAT023",
    places=("token 59 of sample *",),
    evident=1,
)
