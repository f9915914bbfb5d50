"""Plain text cut into blocks of one length: no row has an end, and none begins.

Further pre-training goes on where the last block ended; BOS opens each document.
"""

from ftlab.faults.builders.chats import chats, ids_of, labelled, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy

LENGTH = 48


def build() -> Case:
    """Write documents one behind the other, and cut where a block is full."""
    from transformers import default_data_collator

    made = tokenizer(adds_bos=True, eos_token="</s>")
    texts = [" ".join(m["content"] for m in chat) + "</s>" for chat in chats(64)]
    stream = [token for row in ids_of(made, texts) for token in row]
    starts = range(0, len(stream) - LENGTH, LENGTH)
    rows = labelled([stream[start : start + LENGTH] for start in starts])
    return trained_on(made, rows, default_data_collator)


HEALTHY = Healthy(
    "blocks of plain text that begin and end anywhere",
    looks_like=("DAT020", "DAT023"),
    steps=6,
)
