"""Rows of one conversation cut into stretches that go together."""

from dataclasses import replace
from typing import Any

from ftlab.records.token_row import TokenRow
from ftlab.views.tokens.tokens_summary import Sample, TokenSummary, plain


def as_opening(prompt: TokenRow, trained: TokenRow) -> TokenRow:
    """Call the generation prompt what it opens: the header of the next answer.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.token_row import TokenRow, Turn
    >>> from ftlab.views.tokens.stretches import as_opening
    >>> prompt = Turn(0, 1, "assistant", -1, "generation prompt")
    >>> asked = TokenRow(np.array([0]), turns=(prompt,))
    >>> answer = Turn(0, 1, "assistant", 1, "text")
    >>> as_opening(asked, TokenRow(np.array([5]), turns=(answer,))).turns[0].part
    'header'
    """
    last = prompt.turns[-1] if prompt.turns else None
    if last is None or last.part != "generation prompt":
        return prompt
    asked = max((turn.message for turn in prompt.turns), default=-1)
    later = (t for t in trained.turns if t.message > asked and t.role == last.role)
    answer = next(later, None)
    if answer is None:
        return prompt
    header = replace(last, message=answer.message, part="header")
    return replace(prompt, turns=(*prompt.turns[:-1], header))


def stretches_of(
    summary: TokenSummary,
) -> tuple[tuple[str, tuple[str | None, ...]], ...]:
    """Return what each stretch is, and its text by row.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.token_row import Piece, TokenBatch, TokenRow, Turn
    >>> from ftlab.views.tokens.stretches import stretches_of
    >>> from ftlab.views.tokens.tokens_summary import summarise_tokens
    >>> row = TokenRow(np.array([0]), turns=(Turn(0, 1, "user", 0, "text"),))
    >>> batch = TokenBatch((row,), {0: Piece("Hi", "Hi")})
    >>> stretches_of(summarise_tokens(batch))
    (('user 0, text', ('Hi',)),)
    """
    parts = [_parts(sample, summary) for sample in summary.samples]
    if not all(sample.row.turns for sample in summary.samples):
        return ()
    order: list[tuple[Any, str]] = []
    for own in parts:
        known = [key for key, _ in order]
        at = 0
        for key, (what, _) in own.items():
            if key in known:
                at = known.index(key) + 1
            else:
                order.insert(at, (key, what))
                known.insert(at, key)
                at += 1
    none = ("", None)
    return tuple(
        (what, tuple(own.get(key, none)[1] for own in parts)) for key, what in order
    )


def _parts(sample: Sample, summary: TokenSummary) -> dict[Any, tuple[str, str]]:
    """Return a row's turns by message and part, and what stands between them."""
    found: dict[Any, tuple[str, str]] = {}
    edges = [0, *(turn.end for turn in sample.row.turns)]
    begins = [*(turn.start for turn in sample.row.turns), len(sample.row.ids)]
    last: Any = "beginning"
    for number, turn in enumerate(sample.row.turns):
        between = summary.stretch(sample.row, edges[number], begins[number])
        if between:
            found[("before", last)] = ("between turns", between)
        key: Any = (turn.message, turn.role, turn.part)
        while key in found:
            key = (*key, "again")
        message = f" {turn.message}" if turn.message >= 0 else ""
        what = f"{plain(turn.role, 20) or 'no role'}{message}, {turn.part}"
        found[key] = (what, summary.stretch(sample.row, turn.start, turn.end))
        last = key
    rest = summary.stretch(sample.row, edges[-1], len(sample.row.ids))
    if rest:
        found[("before", "end")] = ("after the last turn", rest)
    return found
