"""Every sample begins with BOS twice.

The template writes BOS, and the rendered text goes through the tokenizer once more,
which puts its own BOS in front. At inference there is one.

Fix: ``add_special_tokens=False`` for rendered text.

Source: huggingface/trl#1400.
"""

from ftlab.faults.builders.chats import chats, ids_of, labelled, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Tokenise rendered text as if it were plain."""
    made = tokenizer(adds_bos=True)
    texts = [made.apply_chat_template(each, tokenize=False) for each in chats()]
    rows = labelled(ids_of(made, texts, add_special_tokens=not fixed))
    return trained_on(made, rows)


FAULT = Fault(
    "each sample begins with BOS twice",
    code="DAT022",
    places=("token 1 of sample *",),
)
