"""Pages of tags one behind the other, cut into blocks, without one EOS.

Such a corpus for further training is unusual, and its tags are a part of its texts.
"""

from ftlab.faults.builders.chats import chats, labelled, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy

BLOCK = 48


def build() -> Case:
    """Write questions and answers as pages."""
    made = tokenizer(eos_token="</s>")
    texts = [
        f"<html><p>{q['content']}<br>{a['content']}</p></html>\n" for q, a in chats(32)
    ]
    ids = made("".join(texts))["input_ids"]
    starts = range(0, len(ids) - BLOCK + 1, BLOCK)
    rows = labelled([ids[start : start + BLOCK] for start in starts])
    return trained_on(made, rows)


HEALTHY = Healthy(
    "tags end the texts, and no EOS does",
    looks_like=("DAT018",),
    steps=6,
)
