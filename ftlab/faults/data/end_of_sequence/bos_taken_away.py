"""Conversations are trained without BOS.

It was stripped from the rendered text, so that it would not come twice, and then the
tokenizer was told to add none either.

Fix: one of the two: leave ``add_special_tokens`` alone.

Source: unslothai/notebooks#251 (Gemma).
"""

from ftlab.faults.builders.chats import chats, ids_of, labelled, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Tokenise text that was rendered without BOS."""
    made = tokenizer(adds_bos=True)
    texts = [
        made.apply_chat_template(each, tokenize=False).removeprefix(made.bos_token)
        for each in chats()
    ]
    rows = labelled(ids_of(made, texts, add_special_tokens=fixed))
    return trained_on(made, rows, max_steps=2)


FAULT = Fault(
    "no sample begins with BOS",
    code="DAT022",
    places=("token 0 of sample *",),
    steps=2,
    evident=1,
)
