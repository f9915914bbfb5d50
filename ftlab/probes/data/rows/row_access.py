"""A row as it stands: its columns, and the messages of a conversation."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ftlab.probes.data.rows.message_forms import unfolded
from ftlab.probes.data.rows.plain import plain

if TYPE_CHECKING:
    from ftlab.probes.data.rows.parts import RowParts


def mapping_of(row: Any) -> Mapping[str, Any]:
    """Return a row by its columns; a text or messages alone as the only one.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_access import mapping_of
    >>> mapping_of("Once.")
    {'text': 'Once.'}
    """
    # asking the abstract class costs more than reading a short row
    if type(row) is dict or isinstance(row, Mapping):
        return row
    row = plain(row)
    return {"text": row} if isinstance(row, str) else {"messages": row}


def messages_of(row: Mapping[str, Any], read: "RowParts") -> list[Any]:
    """Return the messages of a conversation as they stand in its row."""
    return messages_in(row, read.parts[0].column)


def messages_in(row: Mapping[str, Any], column: str) -> list[Any]:
    """Return the messages of a column that is known to hold some."""
    talk = row[column]
    if isinstance(talk, list):
        return talk
    talk = unfolded(talk) if isinstance(talk, Mapping) else plain(talk)
    return list(talk)
