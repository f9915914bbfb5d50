"""Texts of a second source were joined to the first, without the mark at their end.

What is trained on them is to go on.

Fix: append ``tokenizer.eos_token`` to these texts.

Source: huggingface/trl#1623; here it is a part of the rows.
"""

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.rows import ROWS, Writer, fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Leave the mark away from some texts."""
    made, writer = tokenizer(), Writer()
    broken = one_in(7)
    rows = [{"text": writer.text() + "</turn>"} for _ in range(ROWS)]
    for at in broken if not fixed else ():
        rows[at]["text"] = rows[at]["text"].removesuffix("</turn>")
    spots = [f"row {at} text character *" for at in broken]
    return looked_at(rows, made=made, spots=spots)


FAULT = fault_of_rows(
    "the model sometimes goes on for ever",
    code="DAT058",
)
