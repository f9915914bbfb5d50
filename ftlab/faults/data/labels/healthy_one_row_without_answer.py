"""One row of a batch has no label that counts: its answer was cut off.

The mean is over the labels of the others. The same holds for a whole micro-batch, where
the Trainer divides by the labels of all micro-batches of an update.
"""

from ftlab.faults.builders.chats import answers_only, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train two rows at a time, four times an update; three rows have no labels."""
    made = tokenizer()
    rows = answers_only(made)
    for number in (0, 4, 5):
        rows[number]["labels"] = [-100] * len(rows[number]["labels"])
    return trained_on(
        made,
        rows,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        max_steps=8,
    )


HEALTHY = Healthy(
    "rows, and now and then a micro-batch, without a label that counts",
    looks_like=("DAT004",),
    steps=8,
)
