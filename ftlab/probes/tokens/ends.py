"""Where BOS and EOS stand, and whether an answer's end is trained and heard."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.template import TemplateFacts
from ftlab.records.token_ends import AnswerEnd, EndReport, RowEnds
from ftlab.records.token_row import TokenBatch, TokenRow, Turn

_ENDING = {"eos", "stop", "control"}


def ends_of(batch: TokenBatch, facts: TemplateFacts | None = None) -> EndReport:
    """Report beginnings and ends of all rows.

    Parameters
    ----------
    batch
        Rows; with turns, ends are those of answers, and without the last EOS of a row.
    facts
        Of the template, with what a generation stops at.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.tokens.ends import ends_of
    >>> from ftlab.probes.tokens.rows import read_batch
    >>> tokenizer = SimpleNamespace(
    ...     bos_token_id=1,
    ...     eos_token_id=2,
    ...     convert_ids_to_tokens=lambda ids: [str(i) for i in ids],
    ...     decode=lambda ids: "".join(map(str, ids)),
    ... )
    >>> batch = {"input_ids": [[1, 1, 5, 2]], "labels": [[-100, -100, 5, -100]]}
    >>> for line in ends_of(read_batch(batch, tokenizer)).rows[0].words:
    ...     print(line)
    BOS stands twice (position 1)
    the end of the answer is not trained (position 3)
    """
    rows = tuple(_row(batch, row) for row in batch.rows)
    written = Counter(
        int(row.ids[answer.terminator])
        for row, ends in zip(batch.rows, rows, strict=True)
        for answer in ends.answers
        if answer.terminator is not None
    )
    stops = dict(facts.stops) if facts is not None else {}
    stops.setdefault("tokenizer", tuple(sorted(batch.special.get("eos", ()))))
    named = {*written, *(each for ids in stops.values() for each in ids)}
    names = {i: batch.pieces[i].piece for i in sorted(named) if i in batch.pieces}
    return EndReport(rows, dict(written), stops, names)


def _row(batch: TokenBatch, row: TokenRow) -> RowEnds:
    real = _real(row)
    bos = np.isin(row.ids, list(batch.special.get("bos", ()))) & real
    eos = np.isin(row.ids, list(batch.special.get("eos", ()))) & real
    begins = _begins(row, real)
    doubled = np.zeros(len(bos), dtype=bool)
    doubled[1:] = bos[1:] & bos[:-1] & begins[:-1]
    return RowEnds(
        row.source,
        _places(bos),
        _places(eos),
        _places(doubled),
        _places(_inner(row, eos, real)),
        tuple(_joined(row)),
        tuple(_answers(batch, row, real)),
        _prompt(row),
    )


def _places(marks: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(marks).tolist())


def _real(row: TokenRow) -> NDArray[np.bool_]:
    if row.attention is not None:
        return row.attention != 0
    if row.segments is not None:
        return row.segments >= 0
    return np.ones(len(row.ids), dtype=bool)


def _segments(row: TokenRow) -> NDArray[Any]:
    known = row.segments
    return np.zeros(len(row.ids), np.int32) if known is None else known


def _begins(row: TokenRow, real: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the first position of each document."""
    segments = _segments(row)
    begins = real.copy()
    begins[1:] &= (segments[1:] != segments[:-1]) | ~real[:-1]
    return begins


def _inner(
    row: TokenRow, eos: NDArray[np.bool_], real: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mark each EOS with a text of the same document behind it that ends no turn."""
    segments = _segments(row)
    inner = eos.copy()
    if len(inner):
        inner[-1] = False
        inner[:-1] &= real[1:] & (segments[1:] == segments[:-1]) & ~eos[1:]
    for turn in row.turns:
        if turn.part in ("end", "added", "header"):
            inner[turn.start : turn.end] = False
    return inner


def _joined(row: TokenRow) -> Iterator[int]:
    """Yield where a conversation begins that another one of its document precedes."""
    segments = _segments(row)
    last: Turn | None = None
    for turn in row.turns:
        if turn.message < 0:
            continue
        anew = last is not None and turn.message < last.message
        if anew and last and segments[turn.start] == segments[last.start]:
            yield turn.start
        last = turn


def _answers(
    batch: TokenBatch, row: TokenRow, real: NDArray[np.bool_]
) -> Iterator[AnswerEnd]:
    if not row.turns:
        yield from _without_turns(batch, row, real)
        return
    segments = _segments(row)
    groups: dict[tuple[int, int], list[Turn]] = {}
    chat = 0
    last = -1
    for turn in row.turns:
        if turn.role == "assistant" and turn.message >= 0:
            chat += turn.message < last
            last = turn.message
            groups.setdefault((chat, turn.message), []).append(turn)
    for (_, message), turns in groups.items():
        text = [t for t in turns if t.part not in ("header", "end")]
        end = next((t for t in turns if t.part == "end"), None)
        stop = turns[-1].end
        edge = stop >= len(row.ids) or segments[stop] != segments[stop - 1]
        yield _answer(batch, row, message, text or turns[:1], end, cut=edge)


def _answer(
    batch: TokenBatch,
    row: TokenRow,
    message: int,
    text: list[Turn],
    end: Turn | None,
    *,
    cut: bool,
) -> AnswerEnd:
    terminator = None
    for at in range(end.start, end.end) if end is not None else ():
        if batch.pieces[int(row.ids[at])].special & _ENDING:
            terminator = at
            break
    if terminator is None and end is not None and _said(batch, row, end).strip():
        terminator = end.start
    if row.labels is None:
        return AnswerEnd(message, text[-1].end - 1, terminator, cut=cut)
    trained = row.trained
    return AnswerEnd(
        message,
        text[-1].end - 1,
        terminator,
        any(bool(trained[t.start : t.end].any()) for t in text),
        None if terminator is None else bool(trained[terminator]),
        cut and terminator is None,
    )


def _said(batch: TokenBatch, row: TokenRow, turn: Turn) -> str:
    return "".join(
        row.texts.get(at, batch.pieces[int(row.ids[at])].text)
        for at in range(turn.start, turn.end)
    )


def _without_turns(
    batch: TokenBatch, row: TokenRow, real: NDArray[np.bool_]
) -> Iterator[AnswerEnd]:
    """Take each document with labels for one answer, which its last EOS ends.

    Without labels it may be a prompt, which nothing has to end.
    """
    if row.labels is None:
        return
    ending = batch.special.get("eos", frozenset()) | batch.special.get(
        "stop", frozenset()
    )
    if not ending:
        return
    segments = np.where(real, _segments(row), -1)
    for each in np.unique(segments[segments >= 0]):
        places = np.flatnonzero(segments == each)
        last = int(places[-1])
        ended = int(row.ids[last]) in ending
        terminator = last if ended else None
        body = places[:-1] if ended else places
        trained = row.trained
        yield AnswerEnd(
            -1,
            int(body[-1]) if len(body) else last,
            terminator,
            bool(trained[body].any()),
            bool(trained[last]) if ended else None,
            cut=not ended,
        )


def _prompt(row: TokenRow) -> int | None:
    """Return where another answer is opened; before the first one, the row was cut."""
    if row.labels is None or not row.turns:
        return None
    last = row.turns[-1]
    opened = last.part == "generation prompt"
    answered = any(t.role == "assistant" and t.part == "text" for t in row.turns)
    trained = bool(row.trained[last.start : last.end].any())
    return last.start if opened and answered and trained else None
