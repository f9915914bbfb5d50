"""Labels were copied from ids that were padded, and the padding is trained.

Fix: ``-100`` wherever ``attention_mask`` is 0, or rows without padding and a collator
that pads them.

Source: general; `DataCollatorForSeq2Seq` pads labels with -100, and leaves alone what
came padded.
"""

from ftlab.faults.builders.row_forms import tokenised
from ftlab.faults.builders.rows import fault_of_rows, looked_at
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Pad all rows before their labels are copied."""
    rows, spots = tokenised(), []
    for at, row in enumerate(rows):
        size = len(row["input_ids"])
        spots.append(f"row {at} labels[{size}]")
        row["input_ids"] = [*row["input_ids"], *[0] * 4]
        row["attention_mask"] = [1] * size + [0] * 4
        row["labels"] = [*row["labels"], *([-100] if fixed else [0]) * 4]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model writes padding behind its answers, and its loss is low",
    code="DAT057",
)
