"""Labels are padded with -1, and the loss says that a target is out of bounds.

-1 was the ignored value of other frameworks, and of early versions of this one. Here
only -100 is left out of the loss.

Fix: ``DataCollatorForSeq2Seq(tokenizer)``, or -100 in a collator of one's own.

Source: huggingface/transformers#1848, huggingface/trl#1802.
"""

from ftlab.faults.builders.chats import tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Pad labels with another value than -100."""
    from transformers import DataCollatorForSeq2Seq

    made = tokenizer()
    collate = DataCollatorForSeq2Seq(made, label_pad_token_id=-100 if fixed else -1)
    return trained_on(made, whole(made), collate)


FAULT = Fault(
    "the first padded batch ends the run: target -1 is out of bounds",
    code="DAT002",
    places=("token * of sample *",),
    evident=-1,
    silent=False,
)
