"""Both sides of a merge that nobody decided on, with Git's markers around them."""

import re
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed, asks_about
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault

OPENED, CLOSED = "<<<<<<< ", ">>>>>>> "
"""What the first marker begins with, and the last one."""

_OPENED = re.compile(rf"^{OPENED}\S", re.MULTILINE)
_BETWEEN = re.compile(r"\n={7}\r?\n")
_ABOUT = re.compile(
    r"\bgit\b|\bmerg|conflict|\brebas|cherry.?pick|\bdiff\b|\bpatch|<{7}",
    re.IGNORECASE,
)
"""A prompt, or the text around the markers, with one of these is about them."""


def merge_markers(row: RowParts) -> Iterator[Placed]:
    r"""Yield the answers and texts in which a conflict was left.

    Examples
    --------
    >>> from ftlab.probes.data.texts.merge_markers import merge_markers
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> said = "x = 1\n<<<<<<< HEAD\ny = 2\n=======\ny = 3\n>>>>>>> fix\n"
    >>> row = parts_of({"prompt": "How?", "completion": said})
    >>> [(fault.name, fault.char) for _, fault in merge_markers(row)]
    [('merge-markers', 6)]
    """
    for part in row.parts:
        found = list(_conflicts(part.text))
        if not found or _ABOUT.search(_without(part.text, found)):
            continue
        if row.kind == "text" or not asks_about(row, _ABOUT):
            first = found[0].start
            marker = part.text[first : first + 40].partition("\n")[0].rstrip()
            yield part, TextFault("merge-markers", first, repr(marker))


def _conflicts(text: str) -> Iterator[slice]:
    """Yield from where to where both sides of a conflict stand, markers included."""
    end = 0
    while opened := _OPENED.search(text, end):
        between = _BETWEEN.search(text, opened.end())
        closed = text.find(f"\n{CLOSED}", between.end() - 1) if between else -1
        if closed < 0:
            return
        end = text.find("\n", closed + 1)
        end = len(text) if end < 0 else end
        yield slice(opened.start(), end)


def _without(text: str, left_out: list[slice]) -> str:
    """Return what stands around some parts of a text."""
    starts = [0, *(each.stop for each in left_out)]
    stops = [*(each.start for each in left_out), len(text)]
    return "\n".join(text[a:b] for a, b in zip(starts, stops, strict=True))
