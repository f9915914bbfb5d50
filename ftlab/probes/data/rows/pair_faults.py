"""What is wrong with a preference: its scores, and the prompts of its two sides."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.data.rows.parts import ROLES, Part, RowFault, RowParts

SCORES = tuple(
    pair
    for word in ("score", "rating", "avg_rating")
    for pair in (
        (f"{word}_chosen", f"{word}_rejected"),
        (f"chosen_{word}", f"rejected_{word}"),
        (f"chosen-{word}", f"rejected-{word}"),
    )
)
"""Columns that hold what the two sides were given, the more the better."""

SHOWN = 40
"""Characters of a prompt that are shown."""


def pair_faults(row: Mapping[str, Any], read: RowParts) -> Iterator[RowFault]:
    """Yield what is wrong with a pair.

    Examples
    --------
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> from ftlab.probes.data.rows.pair_faults import pair_faults
    >>> row = {"chosen": "a", "rejected": "b", "score_chosen": 2, "score_rejected": 8}
    >>> list(pair_faults(row, parts_of(row)))
    [('pair-turned-round', 'score_chosen', '2, and score_rejected 8')]
    """
    for chosen, rejected in SCORES:
        if chosen in row:
            better, worse = row[chosen], row.get(rejected)
            if _is_number(better) and _is_number(worse) and better < worse:
                says = f"{better}, and {rejected} {worse}"
                yield "pair-turned-round", chosen, says
            break
    yield from _other_prompts(read)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _other_prompts(read: RowParts) -> Iterator[RowFault]:
    """Yield where the messages of both sides part in what the user says.

    Two answers, and what is said behind them, may well be different, and so may be what
    a system says.
    """
    talks = (_talk_of(read, side) for side in ("chosen", "rejected"))
    for chosen, rejected in zip(*talks, strict=False):
        asked, other = chosen.text.split(), rejected.text.split()
        if chosen.role == rejected.role and asked == other:
            continue
        if {ROLES.get(chosen.role), ROLES.get(rejected.role)} == {"u"}:
            says = f"{' '.join(other)[:SHOWN]!r}, not {' '.join(asked)[:SHOWN]!r}"
            yield "pair-of-two-prompts", rejected.where, says
        return


def _talk_of(read: RowParts, side: str) -> list[Part]:
    said = [each for each in read.parts if each.message >= 0 and each.column == side]
    return [each for each in said if each.role != "system"]
