"""A table with arrays was written with ``to_csv``: each answer is how NumPy shows them.

Fix: ``value.tolist()`` and ``json.dumps``; or take the text out of the array.

Source: general; numpy documentation, ``array_repr``; pandas, ``DataFrame.to_csv``.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, pairs


def build(fixed: bool) -> Case:
    """Write all answers as a dictionary of arrays."""
    rows = pairs()
    for row in rows if not fixed else ():
        said, at = row["completion"], row["completion"].index(" ")
        shown = f"{{'text': array([{said!r}], dtype=object), 'start': array([{at}])}}"
        row["completion"] = shown
    count = len(rows)
    spots = [f"row {at} completion character *" for at in range(count)]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "arrays-written-by-str",
    "the model writes array([...], dtype=object)",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
