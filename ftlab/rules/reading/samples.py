"""The samples that a watch has looked at, for the rules about tokens and labels."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ftlab.records.copied_rows import CopiedRows
from ftlab.records.id_facts import IdFacts
from ftlab.records.round_trip import RoundTrip
from ftlab.records.sample_facts import SampleFacts, SeenSamples
from ftlab.rules.rule import Need, Place, Run

BEHIND = 3
"""Last tokens of a sample among which its end stands: templates write a newline, or a
space and a newline, behind it."""

SAME = 0.98
"""Share of the labels that are the token at their own position: a causal model."""

PLACES = 16
"""Samples that a finding names."""


@dataclass(frozen=True, slots=True)
class Sight:
    """A sample, and the step in which it was seen."""

    step: int
    sample: SampleFacts


@dataclass(frozen=True, slots=True)
class Samples:
    """All samples that were looked at, each once, however often it came.

    Attributes
    ----------
    special
        Ids by what they are; see `SeenSamples`.
    pieces
        Of the ids that are named.
    marked
        What was seen in the steps that have marks in brackets as common tokens.
    numbers
        Step, and what its ids have in common.
    copied
        Step, and how many rows of a micro-batch of it are different.
    trips
        Step, and what becomes of its ids when they are read again.
    """

    sights: tuple[Sight, ...]
    special: Mapping[str, frozenset[int]]
    pieces: Mapping[int, str]
    marked: tuple[SeenSamples, ...] = ()
    numbers: tuple[tuple[int, IdFacts], ...] = ()
    copied: tuple[tuple[int, CopiedRows], ...] = ()
    trips: tuple[tuple[int, RoundTrip], ...] = ()

    def ids(self, kind: str) -> frozenset[int]:
        """Return the ids of one kind."""
        return self.special.get(kind, frozenset())

    def where(self, chosen: Callable[[SampleFacts], bool]) -> list[Sight]:
        """Return the samples that are so."""
        return [each for each in self.sights if chosen(each.sample)]

    @property
    def stops(self) -> frozenset[int]:
        """Ids of which one ends a text."""
        return self.ids("stop") | self.ids("eos")

    @property
    def end(self) -> str:
        """The token that ends a text, as messages name it."""
        return self.piece(min(self.ids("eos") or self.stops))

    def piece(self, number: int) -> str:
        """Return an id as the vocabulary writes it, quoted."""
        known = self.pieces.get(number)
        return f"token {number}" if known is None else repr(known)


_read: WeakKeyDictionary[Run, tuple[int, Samples]] = WeakKeyDictionary()


def samples_of(run: Run) -> Samples:
    """Return the samples from the first step on; rules of a round share one reading."""
    known = _read.get(run)
    if known is None or known[0] != run.version:
        known = _read[run] = run.version, _gather(run)
    return known[1]


def _gather(run: Run) -> Samples:
    seen = [
        SeenSamples.from_json(event.step, event.detail)
        for event in run.whole.events
        if event.kind == "rows"
    ]
    sights: dict[object, Sight] = {}
    pieces: dict[int, str] = {}
    for each in seen:
        pieces.update(each.pieces)
        for sample in each.samples:
            sights.setdefault(sample.identity, Sight(each.step, sample))
    special = seen[-1].special if seen else {}
    marked = tuple(each for each in seen if each.marks)
    numbers = tuple((each.step, each.ids) for each in seen if each.ids is not None)
    copied = tuple((each.step, rows) for each in seen for rows in each.copied)
    trips = tuple((each.step, each.trip) for each in seen if each.trip is not None)
    found = tuple(sights.values())
    return Samples(found, special, pieces, marked, numbers, copied, trips)


def without_tokens(run: Run) -> bool:
    """Tell whether the model has nothing that could look an id up."""
    return run.facts.model.get("embeds") is False


NEEDS = Need(
    "samples of the batches",
    "ftlab.watch(...) of a model that is given input_ids",
    lambda run: any(event.kind == "rows" for event in run.whole.events),
    absent=without_tokens,
)


def row_name(micro_batch: int, row: int) -> str:
    """Name a row of a step as places do.

    Examples
    --------
    >>> from ftlab.rules.reading.samples import row_name
    >>> row_name(0, 3), row_name(1, 3)
    ('3', '3 of micro-batch 1')
    """
    return f"{row} of micro-batch {micro_batch}" if micro_batch else str(row)


def row_places(found: Iterable[tuple[str, int]]) -> list[Place]:
    """Return a place for each position in a row, and then each row once.

    Examples
    --------
    >>> from ftlab.rules.reading.samples import row_places
    >>> [str(place) for place in row_places([("3", 0), ("3", 8)])]
    ['token 0 of sample 3', 'token 8 of sample 3', 'sample 3']
    """
    known = list(found)
    tokens = [Place("token", f"{at} of sample {row}") for row, at in known]
    return tokens + [Place("sample", row) for row in dict(known)]


def token_places(
    sights: Iterable[Sight], position: Callable[[SampleFacts], int]
) -> list[Place]:
    """Return a token and its sample for the first of them."""
    chosen = [sight.sample for sight in list(sights)[:PLACES]]
    return row_places((row_name(e.micro_batch, e.row), position(e)) for e in chosen)


def is_causal(sample: SampleFacts) -> bool:
    """Tell whether labels are the tokens that are read: no masked words, no targets."""
    return sample.same >= SAME


def closes(sample: SampleFacts) -> bool:
    """Tell whether a sample ends with a control token, or whitespace behind one."""
    last = sample.end - BEHIND
    return any(each.position >= last for each in sample.controls)


def steps_of(sights: Iterable[Sight]) -> tuple[int, int]:
    """Return the first and the last step in which they were seen."""
    steps = [sight.step for sight in sights]
    return min(steps), max(steps)


def has_tokenizer(run: Run) -> bool:
    """Tell whether the run knows its tokenizer."""
    found: Any = run.facts.training.get("tokenizer")
    return bool(found)
