"""The turns of the samples that a watch has looked at, and their template."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from ftlab.records.event import Event
from ftlab.records.template import TemplateFacts
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.samples import PLACES, row_name, row_places, without_tokens
from ftlab.rules.rule import Need, Place, Run

ANSWERS = "assistant"
"""The role that a model plays."""

OPENINGS = ("header", "generation prompt")
"""Parts that open a turn."""


@dataclass(frozen=True, slots=True)
class TurnSight:
    """The turns of a sample, and the step in which it was seen."""

    step: int
    sample: SampleTurns


def turn_sights(run: Run) -> list[TurnSight]:
    """Return the samples from the first step on, those with turns."""
    return [
        TurnSight(event.step, sample)
        for event in _events(run)
        for sample in map(SampleTurns.from_json, event.detail["samples"])
        if sample.turns
    ]


def template_of(run: Run) -> TemplateFacts | None:
    """Return what is known of the tokenizer's chat template."""
    for event in _events(run):
        if "template" in event.detail:
            return TemplateFacts.from_json(event.detail["template"])
    return None


def has_turns(run: Run) -> bool:
    """Tell whether turns were read."""
    return bool(_events(run))


def _events(run: Run) -> list[Event]:
    return [event for event in run.whole.events if event.kind == "turns"]


NEEDS = Need(
    "the turns of the samples",
    "a watch with a tokenizer that has a chat template",
    has_turns,
    absent=without_tokens,
)


def turn_places(
    chosen: Iterable[tuple[TurnSight, TurnFacts]], position: Callable[[TurnFacts], int]
) -> list[Place]:
    """Return a token of each, and their samples."""
    some = [(sight.sample, position(turn)) for sight, turn in list(chosen)[:PLACES]]
    rows = ((row_name(each.micro_batch, each.row), at) for each, at in some)
    return list(dict.fromkeys(row_places(rows)))


def turns_where(
    run: Run, chosen: Callable[[TurnFacts], bool]
) -> list[tuple[TurnSight, TurnFacts]]:
    """Return the turns that are so, each with the sample that holds it."""
    return [
        (s, turn) for s in turn_sights(run) for turn in s.sample.turns if chosen(turn)
    ]


def is_answer(turn: TurnFacts) -> bool:
    """Tell whether it is the text of an answer."""
    return turn.role == ANSWERS and turn.part == "text"


def opens_answer(turn: TurnFacts) -> bool:
    """Tell whether an answer begins behind it."""
    return turn.role == ANSWERS and turn.part in OPENINGS


def answers_of(sample: SampleTurns) -> list[TurnFacts]:
    """List the texts of answers."""
    return list(filter(is_answer, sample.turns))


def empty_answers(sample: SampleTurns) -> Iterator[TurnFacts]:
    """Yield the ends of answers that have no text.

    They directly follow the opening, or the turn before where nothing opens an answer.
    """
    for before, end in pairwise(sample.turns):
        opens = before.role == ANSWERS and before.part in OPENINGS
        another = before.role not in {ANSWERS, ""} and before.part in {"text", "end"}
        closes = end.role == ANSWERS and end.part == "end"
        if closes and (opens or another) and before.end == end.start:
            yield end


def told_system(sample: SampleTurns) -> TurnFacts | None:
    """Return the text of a system message before anybody else speaks, if there is one.

    Parts of the template's own have no role.
    """
    for turn in sample.turns:
        if turn.role not in {"", "system"}:
            return None
        if turn.role == "system" and turn.part == "text":
            return turn
    return None
