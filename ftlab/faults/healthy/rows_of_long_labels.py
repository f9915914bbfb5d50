"""Texts with one of three long labels, and some texts with two of them on purpose."""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.rows import Writer, looked_at

LABELS = tuple(
    f"This mail is for the department of {name}, which answers within two working days."
    for name in ("billing", "shipping", "refunds")
)
"""What mails are sorted into."""


def build() -> Case:
    """Sort mails, one kind more often than the others."""
    writer, rows = Writer(), []
    for _ in range(200):
        drawn = max(writer.number(4) - 1, 0)
        rows.append({"prompt": writer.text(), "completion": LABELS[drawn]})
    return looked_at(rows)


HEALTHY = Healthy(
    "rows-of-long-labels",
    "one answer is that of many rows",
    looks_like=("DAT097",),
    builder=build,
    steps=0,
)
