"""Few rows are beyond the limit, as in every training."""

from ftlab.faults.builders.rows import Writer, looked_at, talks
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Let one row in fifty be too long."""
    rows, writer = talks(200), Writer(1)
    for at in range(25, 200, 50):
        rows[at]["messages"][1]["content"] = writer.text(40, 40)
    return looked_at(rows, max_length=600)


HEALTHY = Healthy(
    "lengths differ by a factor of ten",
    looks_like=("DAT058",),
    steps=0,
)
