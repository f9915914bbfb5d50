"""Tokens were added to the tokenizer that made the rows, and not to this one.

Fix: make the rows anew with the tokenizer of the training.

Source: general; on a GPU it is a "device-side assert".
"""

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.row_forms import tokenised
from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Write an added token at the end of some rows."""
    rows = tokenised()
    broken = one_in(15)
    for at in broken if not fixed else ():
        rows[at]["input_ids"][-1] = len(tokenizer()) + 3
    return looked_at(rows, spots=[f"row {at} input_ids[*" for at in broken])


FAULT = fault_of_rows(
    "an index is out of range in the embedding",
    code="DAT057",
)
