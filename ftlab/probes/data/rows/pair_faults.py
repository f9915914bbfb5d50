"""What is wrong with a preference: its scores, and what its two sides answer."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ftlab.probes.data.answers.answer_faults import is_answer
from ftlab.probes.data.rows.parts import Part, RowFault, RowParts
from ftlab.probes.data.rows.roles import ROLES

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

SIDES = ("chosen", "rejected")

SHOWN = 40
"""Characters of a prompt that are shown."""

_ENDS = tuple(".?!:;>]\u3002\uff1f\uff01")
"""What a prompt ends with that no answer goes on with."""


def pair_faults(row: Mapping[str, Any]) -> Iterator[RowFault]:
    """Yield what is wrong with a pair.

    Examples
    --------
    >>> from ftlab.probes.data.rows.pair_faults import pair_faults
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


def prompt_again(read: RowParts) -> Iterator[RowFault]:
    """Yield where the chosen side begins with its prompt.

    A prompt in the rejected side alone may be why it is rejected.

    Examples
    --------
    >>> from ftlab.probes.data.rows.pair_faults import prompt_again
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> sides = {"chosen": "Who built the bridge? Ada.", "rejected": "Kim."}
    >>> list(prompt_again(parts_of({"prompt": "Who built the bridge?"} | sides)))
    [('prompt-in-pair', 'chosen', 'begins with the prompt, and rejected does not')]
    """
    asked = [each for each in read.parts if each.column == "prompt"]
    prompt = asked[-1].text.strip() if asked else ""
    if len(prompt) < SHORTEST:
        return
    chosen, rejected = (_answer_of(read, side) for side in SIDES)
    if chosen and _begins_with(chosen.text, prompt):
        both = rejected and _begins_with(rejected.text, prompt)
        says = "as rejected does" if both else "and rejected does not"
        yield "prompt-in-pair", chosen.where, f"begins with the prompt, {says}"


def _answer_of(read: RowParts, side: str) -> Part | None:
    """Return what a side says where that is an answer alone."""
    said = [each for each in read.parts if each.column == side]
    return said[0] if len(said) == 1 and is_answer(said[0]) else None


def other_prompts(read: RowParts) -> Iterator[RowFault]:
    """Yield where the messages of both sides part in what the user says.

    Two answers, and what is said behind them, may well be different, and so may be what
    a system says.

    Examples
    --------
    >>> from ftlab.probes.data.rows.pair_faults import other_prompts
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> sides = {
    ...     name: [{"role": "user", "content": asked}]
    ...     for name, asked in (("chosen", "What is it?"), ("rejected", "Who is it?"))
    ... }
    >>> list(other_prompts(parts_of(sides)))
    [('pair-of-two-prompts', 'rejected[0].content', "'Who is it?', not 'What is it?'")]
    """
    for chosen, rejected in zip(*map(_talk_of(read), SIDES), strict=False):
        asked, other = chosen.text.split(), rejected.text.split()
        if chosen.role == rejected.role and asked == other:
            continue
        if {ROLES.get(chosen.role), ROLES.get(rejected.role)} == {"u"}:
            says = f"{_short(other)!r}, not {_short(asked)!r}"
            yield "pair-of-two-prompts", rejected.where, says
        return


def _talk_of(read: RowParts) -> Callable[[str], list[Part]]:
    """Return what gives the messages of a side that nobody but the talkers said."""
    said = [each for each in read.parts if each.message >= 0 and each.role != "system"]
    return lambda side: [each for each in said if each.column == side]


def _short(words: list[str]) -> str:
    said = " ".join(words)
    return said if len(said) <= SHOWN else f"{said[:SHOWN]}..."


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _begins_with(said: str, prompt: str) -> bool:
    said = said.strip()
    behind = said[len(prompt) : len(prompt) + 1]
    if not behind or not said.startswith(prompt):
        return False
    return behind == "\n" or prompt.endswith(_ENDS)
