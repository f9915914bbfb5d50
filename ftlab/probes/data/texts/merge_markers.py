"""Both sides of a merge that nobody decided on, with Git's markers around them."""

import re
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed, asks_about
from ftlab.probes.data.rows.row_parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault

OPENED = "<<<<<<< "
"""What the first marker begins with."""

_CONFLICT = re.compile(
    r"^<{7} (?P<ours>\S[^\n]*)\n(?:[^\n]*\n)*?={7}\r?\n(?:[^\n]*\n)*?>{7} \S",
    re.MULTILINE,
)
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
        found = _CONFLICT.search(part.text)
        if found is None or _ABOUT.search(_CONFLICT.sub("", part.text)):
            continue
        if row.kind == "text" or not asks_about(row, _ABOUT):
            says = repr(OPENED + found["ours"][:40])
            yield part, TextFault("merge-markers", found.start(), says)
