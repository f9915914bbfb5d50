"""After a resume the model sees rows that it has seen in the same epoch.

``ignore_data_skip=True`` saves waiting for batches that are to be left out: the epoch
begins anew, with the seed and the number that it had.

Fix: leave ``ignore_data_skip`` off, or set another ``data_seed`` for the rest.

Source: transformers, TrainingArguments.ignore_data_skip.
"""

from ftlab.faults.builders import Case, Fault, base, resumed

SAVED = 5


def build(fixed: bool) -> Case:
    """Resume after five of sixteen batches."""
    return resumed(base, SAVED, max_steps=2 * SAVED, ignore_data_skip=not fixed)


FAULT = Fault(
    "rows of the epoch come a second time after a resume",
    code="DAT029",
    places=("config args.ignore_data_skip",),
    steps=2 * SAVED,
    evident=SAVED,
)
