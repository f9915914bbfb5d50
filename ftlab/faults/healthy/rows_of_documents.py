"""Plain texts without any mark at their end: the training puts it there."""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.rows import Writer, looked_at

SHORT = (
    "Access Denied",
    "404 Not Found: what it means, and what nginx says then, in three sentences.",
    "Just a moment... he said, and went back into the house for his coat.",
)
"""Texts of their own that begin as pages of errors do."""


def build() -> Case:
    """Write documents."""
    writer = Writer()
    texts = [writer.text(5, 30) for _ in range(200)]
    for at, said in enumerate(SHORT):
        texts[40 * at] = said
    return looked_at([{"text": text} for text in texts])


HEALTHY = Healthy(
    "rows-of-documents",
    "texts end as books end",
    looks_like=("DAT058", "DAT059", "DAT064", "DAT091"),
    builder=build,
    steps=0,
)
