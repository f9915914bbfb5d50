"""All batches have one width, a multiple that the rows nearly fill.

``pad_to_multiple_of`` gives shapes that repeat, with little padding.
"""

from ftlab.faults.builders.chats import tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Pad to a multiple of 48."""
    from transformers import DataCollatorForSeq2Seq

    made = tokenizer()
    rows = whole(made)
    return trained_on(made, rows, DataCollatorForSeq2Seq(made, pad_to_multiple_of=48))


HEALTHY = Healthy(
    "batches of one width that rows nearly fill",
    looks_like=("DAT047",),
    steps=6,
)
