"""Long runs of base64 within texts: files that were written out as letters."""

import re
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault

SHORTEST = 400
"""Letters and signs from which on a run is a file and no key."""

_RUN = re.compile(rf"[A-Za-z0-9+/]{{{SHORTEST},}}={{0,2}}")
_KINDS = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]")))
_ASKED = re.compile(r"base.?64|encod|decod", re.IGNORECASE)
OF_EACH = 20
"""Small letters, capitals and digits in the first characters of such a run, each."""


def may_hold_blob(text: str) -> bool:
    """Tell whether there are so many characters without a space.

    Examples
    --------
    >>> from ftlab.probes.data.texts.blobs import may_hold_blob
    >>> may_hold_blob("a " * 400), may_hold_blob("a" * 400)
    (False, True)
    """
    at, last = 0, len(text) - SHORTEST
    while at <= last:  # on to the last space of the next ones
        end = at + SHORTEST
        space = text.rfind(" ", at, end)
        if space < 0 and (space := text.rfind("\n", at, end)) < 0:
            return True
        at = space + 1
    return False


def blobs(row: RowParts) -> Iterator[Placed]:
    """Yield the texts that hold base64, unless a prompt speaks of it.

    Examples
    --------
    >>> import base64, random
    >>> from ftlab.probes.data.texts.blobs import blobs
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> held = base64.b64encode(random.Random(0).randbytes(400)).decode()
    >>> row = parts_of({"prompt": "Why?", "completion": f"See {held}"})
    >>> [(fault.name, fault.char) for _, fault in blobs(row)]
    [('file-in-text', 4)]
    """
    for part in row.parts:
        found = _RUN.search(part.text) if len(part.text) >= SHORTEST else None
        if found and _is_mixed(found.group()[:SHORTEST]):
            asked = (each.text for each in row.parts if each.role == "user")
            if not any(map(_ASKED.search, asked)):
                says = f"{len(found.group()):,} characters without a space"
                yield part, TextFault("file-in-text", found.start(), says)


def _is_mixed(run: str) -> bool:
    return all(len(kind.findall(run)) >= OF_EACH for kind in _KINDS)
