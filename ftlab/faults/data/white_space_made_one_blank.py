"""A cleaning of white space took the indentation of code as well.

Of some answers each line was stripped, of others all lines were joined by blanks.

Fix: strip whole texts alone, ``text.strip()``; take the answers from the source again.

Source: general; ``" ".join(text.split())`` in scripts that clean data.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import Writer, looked_at, one_in, pairs


def _code(number: int) -> str:
    return (
        f"def f(x):\n    y = x + {number}\n    if y > 0:\n        y = -y\n    return y"
    )


def build(fixed: bool) -> Case:
    """Answer with code, and clean some of it."""
    rows, writer, broken = pairs(), Writer(1), one_in(8)
    for at, row in enumerate(rows):
        row["completion"] = _code(1000 * at + writer.number(1000))
    for at in broken if not fixed else ():
        lines = [line.strip() for line in rows[at]["completion"].split("\n")]
        whole = "```python\n" + "\n".join(lines) + "\n```"
        rows[at]["completion"] = " ".join(lines) if at % 3 else whole
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "white-space-made-one-blank",
    "the model writes Python without indentation",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
