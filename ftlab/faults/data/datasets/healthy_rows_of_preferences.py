"""Preferences: answers that have all but their last sentence in common.

Some have been rejected twice, for other last words; formulas differ by their signs.
What is rejected loops, or breaks off.
"""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Write pairs that part in their last sentence."""
    writer, rows = Writer(), []
    for _ in range(200):
        begin = writer.text(3, 4)
        sides = (f"{begin} {writer.sentence()}" for _ in range(2))
        rows.append(
            {"prompt": writer.question()}
            | dict(zip(("chosen", "rejected"), sides, strict=True))
        )
    for row in rows[:40]:
        words = row["rejected"].rsplit(" ", 2)[0]
        rows.append(row | {"rejected": f"{words} no times."})
    for first in range(1, 20):
        of = f"the roots of x^2 + ({first})x + ({-first - 1}) = 0 add up to"
        for asked in (of, of.replace(f"({first})", f"({-first})")):
            both = {"chosen": "See the sign.", "rejected": "See nothing."}
            rows.append({"prompt": f"Which number do {asked}?"} | both)
    for row in rows[60:100:2]:
        row["rejected"] += f" {writer.sentence()}" * 9
    for row in rows[61:100:2]:
        row["rejected"] += " It is so because of the"
    return looked_at(rows)


HEALTHY = Healthy(
    "both answers begin alike",
    looks_like=("DAT058", "DAT061", "DAT066"),
    steps=0,
)
