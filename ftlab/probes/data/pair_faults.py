"""What is wrong with a preference: its scores, and prompts that stand in both sides."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.data.row_parts import RowFault

_WORDS = ("score", "rating", "avg_rating")
SCORES = tuple(
    pair
    for word in _WORDS
    for pair in (
        (f"{word}_chosen", f"{word}_rejected"),
        (f"chosen_{word}", f"rejected_{word}"),
        (f"chosen-{word}", f"rejected-{word}"),
    )
)
"""Columns that hold what the two sides were given, the more the better."""

SHORTEST = 20
"""Characters from which on a prompt that comes again is no chance."""

_ENDS = tuple(".?!:;>]\u3002\uff1f\uff01")
"""What a prompt ends with that no answer goes on with."""


def pair_faults(row: Mapping[str, Any]) -> Iterator[RowFault]:
    """Yield what is wrong with a pair.

    Examples
    --------
    >>> from ftlab.probes.data.pair_faults import pair_faults
    >>> list(pair_faults({"score_chosen": 2.1, "score_rejected": 8.3}))
    [('pair-turned-round', 'score_chosen', '2.1, and score_rejected 8.3')]
    """
    for chosen, rejected in SCORES:
        if chosen in row:
            better, worse = row[chosen], row.get(rejected)
            if _is_number(better) and _is_number(worse) and better < worse:
                says = f"{better}, and {rejected} {worse}"
                yield "pair-turned-round", chosen, says
            break
    if _doubled(row.get("prompt"), row.get("chosen"), row.get("rejected")):
        yield "prompt-in-pair", "chosen", "begins with the prompt, as rejected does"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _doubled(prompt: Any, chosen: Any, rejected: Any) -> bool:
    if not all(isinstance(each, str) for each in (prompt, chosen, rejected)):
        return False
    whole = prompt.strip()
    if len(whole) < SHORTEST:
        return False
    ended = whole.endswith(_ENDS)
    for side in (chosen.lstrip(), rejected.lstrip()):
        behind = side[len(whole) : len(whole) + 1]
        if not side.startswith(whole) or not (ended or behind == "\n"):
            return False
    return True
