"""Facts of rows that nobody trains on yet, as a watch writes them down of a batch."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.tokens.row_samples import rows_event, special_ids
from ftlab.probes.tokens.sample_reading import Columns, Row
from ftlab.probes.tokens.template_survey import left_as_it_was
from ftlab.probes.tokens.turn_samples import book_of, turns_of
from ftlab.records.event import Event
from ftlab.records.template import TemplateFacts
from ftlab.records.token_row import TokenBatch, TokenRow

FIRST = 0
"""The step that would be the first one to train on the rows."""


def row_events(
    batch: TokenBatch,
    tokenizer: Any = None,
    model: Any = None,
    facts: TemplateFacts | None = None,
) -> Iterator[Event]:
    """Yield what a watch would have written down of these rows, as of its first step.

    Parameters
    ----------
    batch
        The rows; one sample each, or several where positions begin anew.
    tokenizer, model
        Say which ids begin, end and pad a text.
    facts
        Of the chat template; without them, nobody knows who speaks.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.tokens.row_events import row_events
    >>> from ftlab.records.token_row import TokenBatch, TokenRow
    >>> batch = TokenBatch((TokenRow(np.array([1, 5, 2])),), {})
    >>> [event.kind for event in row_events(batch)]
    ['rows']
    """
    special = special_ids(tokenizer, model)
    rows: list[Row] = [(0, at, _columns(row)) for at, row in enumerate(batch.rows)]
    yield rows_event(rows, special, tokenizer, FIRST)
    if facts is None:
        return
    with left_as_it_was(tokenizer):
        book = book_of(tokenizer, facts)
        turns = [
            each.as_json()
            for row in rows
            for each in turns_of(row, facts, book, special)
        ]
    detail = {"samples": turns, "template": facts.as_json()}
    words = f"the turns of {len(turns)} samples were read"
    yield Event("turns", FIRST, time.time(), words, detail)


def _columns(row: TokenRow) -> Columns:
    def fitting(values: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        fits = values is not None and len(values) == len(row.ids)
        return values if fits else None

    return Columns(
        row.ids, fitting(row.labels), fitting(row.attention), fitting(row.positions)
    )
