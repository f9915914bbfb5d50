r"""The model that wrote the answers was not stopped at its end of turn.

Fix: cut at ``"\nUser:"``; generate with ``stop_strings=["\nUser:"]``.

Source: general; base models that complete a prompt of turns.
"""

from ftlab.faults.builders.rows import Writer, fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Let some answers go on with a question and an answer."""
    rows, writer, broken = pairs(), Writer(1), one_in(12)
    for at in broken:
        turn = f"\n\nUser: {writer.question()}\nAssistant: {writer.sentence()}"
        rows[at]["completion"] += "" if fixed else turn
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model asks itself the next question",
    code="DAT063",
)
