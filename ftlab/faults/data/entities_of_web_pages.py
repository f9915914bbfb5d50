"""Texts were taken from web pages, and their entities were not decoded.

Fix: ``html.unescape(text)``.

Source: general; crawled questions and answers.
"""

import html

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import Writer, looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Keep some entities."""
    rows, writer, broken = pairs(), Writer(1), one_in(8)
    for at in broken:
        said = f'"{writer.sentence()}" & it\'s so.'
        rows[at]["completion"] += " " + (said if fixed else html.escape(said))
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "entities-of-web-pages",
    "the model writes &quot; and &amp;",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
