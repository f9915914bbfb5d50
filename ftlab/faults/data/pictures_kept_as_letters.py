"""Pictures were kept within the texts, written out in base64.

Fix: put a link in their place: ``re.sub(r"data:[^)]*", "...", text)``.

Source: general; exports of notebooks and of pages that are one file.
"""

import base64
import random

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Keep the picture in some answers."""
    rows, drawn, broken = pairs(), random.Random(3), one_in(20)
    for at in broken:
        held = base64.b64encode(drawn.randbytes(900)).decode()
        kept = "figure.png" if fixed else f"data:image/png;base64,{held}"
        rows[at]["completion"] += f" ![figure]({kept})"
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "pictures-kept-as-letters",
    "the model writes endless letters in place of a picture",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
