"""Documents are joined with "<eos>", which this vocabulary reads as common text.

The mark is that of another model. No row holds EOS, and the model writes the mark into
its texts and goes on.

Fix: ``tokenizer.eos_token`` between documents.

Source: hiyouga/LlamaFactory#1493.
"""

from ftlab.faults.builders.chats import chats, labelled, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault

BLOCK = 48


def build(fixed: bool) -> Case:
    """Cut documents into blocks, one behind the other."""
    made = tokenizer(eos_token="</s>")
    mark = made.eos_token if fixed else "<eos>"
    texts = [f"{q['content']} {a['content']}{mark}" for q, a in chats(48)]
    ids = made("".join(texts))["input_ids"]
    starts = range(0, len(ids) - BLOCK + 1, BLOCK)
    rows = labelled([ids[start : start + BLOCK] for start in starts])
    return trained_on(made, rows)


FAULT = Fault(
    "documents end with the mark of another model",
    code="DAT018",
    places=("token * of sample *",),
)
