"""What is wrong with a row beyond its texts: calls, scores, tokens, pictures."""

from collections.abc import Callable, Iterator, Mapping, Set as AbstractSet
from typing import Any

from ftlab.probes.data.answers.swallowed_answers import swallowed_answers
from ftlab.probes.data.rows.pair_faults import other_prompts, pair_faults, prompt_again
from ftlab.probes.data.rows.parts import RowFault, RowParts
from ftlab.probes.data.rows.pictures import PLACE, has_picture, picture_faults
from ftlab.probes.data.rows.roles import ROLES
from ftlab.probes.data.rows.row_access import messages_of
from ftlab.probes.data.rows.token_rows import token_faults
from ftlab.probes.data.rows.tool_calls import call_faults
from ftlab.probes.data.rows.tool_schemas import null_property

LONGEST = 40
"""Characters of a text that may be the name of a column."""


def row_faults(
    row: Mapping[str, Any],
    read: RowParts,
    words: AbstractSet[str],
    size: Callable[[], int] = int,
) -> Iterator[RowFault]:
    """Yield kind of fault, column, and what is there.

    Parameters
    ----------
    row, read
        The row, and what was read of it.
    words
        Whether `PLACE` stands in its texts.
    size
        Gives the size of the vocabulary; 0 where nobody knows.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_faults import row_faults
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = {"input_ids": [1, 9], "attention_mask": [1]}
    >>> [name for name, *_ in row_faults(row, parts_of(row), (), lambda: 8)]
    ['id-beyond-vocabulary', 'lengths-disagree']
    """
    if read.kind == "tokens":
        yield from token_faults(row, size())
        return
    if read.parts and len(read.parts[0].text) <= LONGEST and _is_header(row):
        yield "header-as-row", read.parts[0].column, "the names of the columns"
    if PLACE in words or "images" in row:
        yield from picture_faults(row, read)
    if [part for part in read.parts if not part.text or part.text.isspace()]:
        yield from _unasked(row, read)
        yield from swallowed_answers(row, read)
    if read.kind == "preference":
        yield from pair_faults(row)
        yield from prompt_again(read)
        yield from other_prompts(read)
    elif read.kind == "messages" and read.parts:
        yield from call_faults(row, read.parts[0].column, messages_of(row, read))
        if says := null_property(row.get("tools")):
            yield "schema-null", "tools", says


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
