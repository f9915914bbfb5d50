"""Control characters as a spreadsheet's file writes them."""

import re
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault

_ESCAPE = re.compile(
    r"(?<![\w'\"`\\/])_x00[01][0-9A-F]_|(?<=\w)_x000[9AD]_(?=\s|_x|\Z)"
)
"""In code about them they stand in quotes."""

_ABOUT = re.compile(r"excel|xlsx|openpyxl|ooxml|spreadsheet|x000D", re.IGNORECASE)


def sheet_escapes(row: RowParts) -> Iterator[Placed]:
    """Yield the texts with control characters that were not read back.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.texts.sheet_escapes import sheet_escapes
    >>> row = parts_of({"text": "One._x000D_ Two."})
    >>> [(fault.name, fault.char, fault.says) for _, fault in sheet_escapes(row)]
    [('sheet-escapes', 4, "'_x000D_'")]
    """
    if _speaks_of_it(row):
        return
    for part in row.parts:
        found = _ESCAPE.search(part.text)
        if found is not None:
            says = repr(found.group())
            yield part, TextFault("sheet-escapes", found.start(), says)


def _speaks_of_it(row: RowParts) -> bool:
    return any(_ABOUT.search(_ESCAPE.sub("", part.text)) for part in row.parts)
