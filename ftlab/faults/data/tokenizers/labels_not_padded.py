"""Labels are cut to another length than the ids, and the loss fails.

"Expected input batch_size to match target batch_size" counts all tokens of the batch,
and says neither labels nor length.

Fix: ``DataCollatorForSeq2Seq``, which pads ids and labels together.

Source: general; ``DataCollatorWithPadding`` leaves labels as they are.
"""

from typing import Any

from ftlab.faults.builders.chats import padded_by_length, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Fault


class Cut:
    """Pads a batch, and leaves the last labels out."""

    def __init__(self, pad: Any, last: int) -> None:
        self.pad = pad
        self.last = last

    def __call__(self, rows: list[Any]) -> Any:
        """Make a batch."""
        batch = self.pad(rows)
        width = batch["labels"].shape[1] - self.last
        batch["labels"] = batch["labels"][:, :width]
        return batch


def build(fixed: bool) -> Case:
    """Leave one label out of each batch."""
    made = tokenizer()
    collate = Cut(padded_by_length(made), 0 if fixed else 1)
    return trained_on(made, whole(made), collate)


FAULT = Fault(
    "the first batch ends the run: sizes do not match",
    code="DAT002",
    places=("data labels",),
    evident=-1,
    silent=False,
)
