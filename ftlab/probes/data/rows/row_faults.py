"""What is wrong with a row beyond its texts: calls, scores, tokens, pictures."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ftlab.probes.data.rows.messages import unfolded
from ftlab.probes.data.rows.pair_faults import pair_faults
from ftlab.probes.data.rows.parts import ROLES, RowFault, RowParts
from ftlab.probes.data.rows.pictures import PLACE, has_picture, picture_faults
from ftlab.probes.data.rows.token_rows import token_faults
from ftlab.probes.data.rows.tool_calls import call_faults

LONGEST = 40
"""Characters of a text that may be the name of a column."""


def row_faults(
    row: Mapping[str, Any], read: RowParts, size: Callable[[], int] = int
) -> Iterator[RowFault]:
    """Yield kind of fault, column, and what is there.

    Parameters
    ----------
    row, read
        The row, and what was read of it.
    size
        Gives the size of the vocabulary; 0 where nobody knows.

    Examples
    --------
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> from ftlab.probes.data.rows.row_faults import row_faults
    >>> row = {"input_ids": [1, 9], "attention_mask": [1]}
    >>> [name for name, *_ in row_faults(row, parts_of(row), lambda: 8)]
    ['id-beyond-vocabulary', 'lengths-disagree']
    """
    if read.kind == "tokens":
        yield from token_faults(row, size())
        return
    if read.parts and len(read.parts[0].text) <= LONGEST and _is_header(row):
        yield "header-as-row", read.parts[0].column, "the names of the columns"
    if "images" in row or any(PLACE in part.text for part in read.parts):
        yield from picture_faults(row, read)
    if any(not part.text or part.text.isspace() for part in read.parts):
        yield from _unasked(row, read)
    if read.kind == "preference":
        yield from pair_faults(row, read)
    elif read.kind == "messages" and read.parts:
        column = read.parts[0].column
        yield from call_faults(row, column, unfolded(row[column]))


def _is_header(row: Mapping[str, Any]) -> bool:
    """Tell whether all texts of a row, two at least, are the names of their columns."""
    texts = 0
    for name, value in row.items():
        if isinstance(value, str):
            if value.strip().casefold() != str(name).casefold():
                return False
            texts += 1
    return texts > 1


def _unasked(row: Mapping[str, Any], read: RowParts) -> Iterator[RowFault]:
    """Find a question that says nothing; of a pair, all of its columns together."""
    asked = [part for part in read.parts if ROLES.get(part.role) == "u"]
    blank = [part for part in asked if not part.text.strip() and not part.says_more]
    whole = read.kind == "messages" or len(blank) == len(asked)
    if blank and whole and not has_picture(row, read):
        says = "nothing but white space" if blank[0].text else "nothing"
        yield "empty-prompt", blank[0].where, says
