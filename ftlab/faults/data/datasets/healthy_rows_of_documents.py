"""Plain texts without any mark at their end: the training puts it there."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Write documents."""
    writer = Writer()
    texts = [writer.text(5, 30) for _ in range(200)]
    return looked_at([{"text": text} for text in texts])


HEALTHY = Healthy(
    "texts end as books end",
    looks_like=("DAT058", "DAT063"),
    steps=0,
)
