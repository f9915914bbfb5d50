"""Texts in another script come to the model as a row of unknown tokens.

The vocabulary was trained on English, without bytes to fall back on. Every letter of
the other script is the same token, which the model learns to say.

Fix: a byte-level tokenizer, or one with byte fallback.

Source: general; ludwig-ai/ludwig#3897 shows a model that learned to write UNK.
"""

from ftlab.faults.builders.chats import chats, trained_on
from ftlab.faults.builders.own_words import words_of
from ftlab.faults.fault import Case, Fault

_OTHER = str.maketrans("aeioutnsr", "аеиоутнср")
"""Letters of another script in place of some of this one."""


def build(fixed: bool) -> Case:
    """Train on texts of which half are in a script that is not known."""
    english = [f"{q['content']} {a['content']}" for q, a in chats(16)]
    other = [text.translate(_OTHER) for text in english]
    texts = [pair[n % 2] for n, pair in enumerate(zip(english, other, strict=True))]
    made = words_of(english + other if fixed else english)
    rows = []
    for text in texts:
        ids = [*made(text)["input_ids"], made.eos_token_id]
        rows.append({"input_ids": ids, "labels": list(ids)})
    return trained_on(made, rows)


FAULT = Fault(
    "half of the texts are unknown tokens",
    code="DAT009",
    places=("token * of sample *",),
)
