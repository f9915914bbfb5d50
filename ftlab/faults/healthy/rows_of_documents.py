"""Plain texts without any mark at their end: the training puts it there."""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.rows import Writer, looked_at

SHORT = (
    "Access Denied",
    "404 Not Found: what it means, and what nginx says then, in three sentences.",
    "Just a moment... he said, and went back into the house for his coat.",
)
"""Texts of their own that begin as pages of errors do."""

AROUND = (
    ("# Copyright 2019 The Authors. All rights reserved.", "# Privacy | Terms of use"),
    ("Dear Sir or Madam,", "With kind regards, Ana"),
    ("Chapter {}: the river", "References and further reading"),
    ("Page {}", "Turn to the next page for the answers."),
    ("Write what happens then, and use simple words.", "It is as it was on page {}"),
)
"""What many texts begin and end with, and no page has put there."""


def build() -> Case:
    """Write documents."""
    writer = Writer()
    texts = [writer.text(5, 30) for _ in range(200)]
    for at, said in enumerate(SHORT):
        texts[40 * at] = said
    for at, text in enumerate(texts):
        if at % 40 and at % 3 == 0:
            begin, end = AROUND[at // 3 % len(AROUND)]
            texts[at] = f"{begin.format(at)}\n\n{text}\n\n{end.format(at)}"
    return looked_at([{"text": text} for text in texts])


HEALTHY = Healthy(
    "rows-of-documents",
    "texts end as books end",
    looks_like=("DAT058", "DAT059", "DAT063", "DAT064", "DAT091"),
    builder=build,
    steps=0,
)
