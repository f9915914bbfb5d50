"""Answers with code were cut by a limit of characters, before the code's last fence.

Fix: a higher limit where they were stored, or leave them out.

Source: general; columns of databases have lengths.
"""

from ftlab.faults.builders.rows import Writer, fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Cut some answers before the end of their code."""
    writer, rows, broken = Writer(), pairs(), one_in(9)
    for at in broken:
        code = f"for n in range({writer.number(90)}):\n    print(n, {at})"
        answer = f"{writer.sentence()}\n```python\n{code}\n```"
        rows[at]["completion"] = answer if fixed else answer[:-4]
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "blocks of code are never closed",
    code="DAT058",
)
