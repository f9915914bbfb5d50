"""What one sample of a batch holds: where it begins and ends, and what is trained."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ftlab.records.copied_rows import CopiedRows
from ftlab.records.id_facts import IdFacts
from ftlab.records.round_trip import RoundTrip
from ftlab.records.spelled_mark import SpelledMark

NOTHING, TEXT = -1, -2
"""In place of an id: the sample ends there, or a token that is no control token."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring positions whose labels count.

    Attributes
    ----------
    start, end
        Positions in the row; ``end`` is the first one behind it.
    after
        The control token that stands at ``end``, `NOTHING` or `TEXT`.
    """

    start: int
    end: int
    after: int


@dataclass(frozen=True, slots=True)
class Control:
    """A control token in its place."""

    position: int
    id: int
    trained: bool


@dataclass(frozen=True, slots=True)
class Twice:
    """The text that a sample begins with, standing twice in a row.

    Attributes
    ----------
    start, again, end
        Where it begins, where it begins once more, and what is behind it.
    first, second
        Ids at its beginning that are not the same in both places: a space in front may
        make other tokens of a word.
    controls
        Control tokens in it.
    """

    start: int
    again: int
    end: int
    first: tuple[int, ...] = ()
    second: tuple[int, ...] = ()
    controls: int = 0


@dataclass(frozen=True, slots=True)
class BorderGuess:
    """Where a prompt would end, had its length been counted in something else.

    Attributes
    ----------
    unit
        What would have been counted: ``"characters"``, or ``"columns"`` of a row that
        begins with padding.
    position
        The first one behind the prompt.
    closing
        The ids before it.
    """

    unit: str
    position: int
    closing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SampleFacts:
    """One sample, or one document of a packed row.

    Attributes
    ----------
    row, micro_batch
        Where it was in the step.
    start, end
        Its positions in the row, padding left out.
    exact
        Whether it is certain where it ends; not without an attention mask where PAD is
        EOS too.
    width
        Positions of the row, padding included.
    documents
        How many the row holds, as position ids tell.
    labelled
        Whether the batch has labels.
    trained
        Positions whose label counts.
    stretches, controls
        The first ones, see `LIMIT` of the probe.
    same, ahead
        Share of the labels that are the token at their position, and the one behind;
        -1 without labels.
    unlike
        The first position whose label counts and is neither its token nor the one
        behind; -1 without one.
    labels_of
        The other row of the batch whose tokens the labels are; -1 where they are of
        none, or of its own.
    padding_trained
        Labels that count outside the sample, before or behind it.
    pooled
        The position of the padding that a classifier takes its class from; -1 where it
        reads the text, or all of it.
    position
        The position id of its first token; -1 where the batch has none.
    head, tail
        Its first and last ids.
    border
        The ids before the first that is trained, and that one.
    again, again_at
        How many of the ids before the first trained one stand once more, next to each
        other, within what is trained, and the first position behind them; at least 2.
    twice
        The beginning that stands twice in a row.
    hidden
        Control tokens, each between two others, that the attention mask hides.
    guesses
        Where its prompt would end, had it been counted in something else.
    """

    row: int
    micro_batch: int
    start: int
    end: int
    exact: bool
    width: int
    documents: int
    labelled: bool
    trained: int
    stretches: tuple[Stretch, ...] = ()
    controls: tuple[Control, ...] = ()
    same: float = -1.0
    ahead: float = -1.0
    unlike: int = -1
    labels_of: int = -1
    padding_trained: int = 0
    pooled: int = -1
    position: int = -1
    head: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    border: tuple[int, ...] = ()
    again: int = 0
    again_at: int = -1
    twice: Twice | None = None
    hidden: tuple[Control, ...] = ()
    guesses: tuple[BorderGuess, ...] = ()

    @property
    def length(self) -> int:
        """Tokens of the sample."""
        return self.end - self.start

    @property
    def identity(self) -> tuple[object, ...]:
        """What is the same when a sample comes again."""
        return self.length, self.head, self.tail

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "SampleFacts":
        """Return the facts that `as_json` wrote.

        Examples
        --------
        >>> from ftlab.records.sample_facts import SampleFacts, Stretch
        >>> facts = SampleFacts(
        ...     0, 0, 0, 4, True, 4, 1, True, 3, (Stretch(1, 4, -1),), head=(5, 6)
        ... )
        >>> SampleFacts.from_json(facts.as_json()) == facts
        True
        """
        made = dict(read)
        made["stretches"] = tuple(Stretch(**each) for each in read["stretches"])
        made["controls"] = tuple(Control(**each) for each in read["controls"])
        made["hidden"] = tuple(Control(**each) for each in read["hidden"])
        made["head"], made["tail"] = tuple(read["head"]), tuple(read["tail"])
        made["border"] = tuple(read.get("border", ()))
        made["guesses"] = tuple(
            BorderGuess(each["unit"], each["position"], tuple(each["closing"]))
            for each in read.get("guesses", ())
        )
        if read.get("twice") is not None:
            known = dict(read["twice"])
            known |= {name: tuple(known[name]) for name in ("first", "second")}
            made["twice"] = Twice(**known)
        return cls(**made)


@dataclass(frozen=True, slots=True)
class SeenSamples:
    """Samples of one step, and what their ids are.

    Attributes
    ----------
    special
        Ids by what they are: ``"bos"``, ``"eos"``, ``"pad"``, ``"unk"``,
        ``"generation"`` (at which a generation ends), ``"stop"`` (those and EOS) and
        ``"pooling"`` (the PAD of a classifier that reads the last token before it).
    pieces
        Of the ids that are named, as the vocabulary writes them.
    marks
        Strings in brackets that are common tokens here, where nothing ends a text.
    ids
        What all ids have in common.
    copied
        How many rows of each micro-batch are different.
    trip
        What becomes of ids that are read again.
    """

    step: int
    samples: tuple[SampleFacts, ...]
    special: Mapping[str, frozenset[int]] = field(default_factory=dict)
    pieces: Mapping[int, str] = field(default_factory=dict)
    marks: tuple[SpelledMark, ...] = ()
    ids: IdFacts | None = None
    copied: tuple[CopiedRows, ...] = ()
    trip: RoundTrip | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {
            "samples": [each.as_json() for each in self.samples],
            "special": {name: sorted(ids) for name, ids in self.special.items()},
            "pieces": {str(number): piece for number, piece in self.pieces.items()},
            "marks": [each.as_json() for each in self.marks],
            "ids": self.ids and self.ids.as_json(),
            "copied": [each.as_json() for each in self.copied],
            "trip": self.trip and self.trip.as_json(),
        }

    @classmethod
    def from_json(cls, step: int, read: Mapping[str, Any]) -> "SeenSamples":
        """Return the samples that `as_json` wrote."""
        special: Mapping[str, Sequence[int]] = read["special"]
        return cls(
            step,
            tuple(map(SampleFacts.from_json, read["samples"])),
            {name: frozenset(ids) for name, ids in special.items()},
            {int(number): piece for number, piece in read["pieces"].items()},
            tuple(map(SpelledMark.from_json, read.get("marks", ()))),
            IdFacts.from_json(ids) if (ids := read.get("ids")) else None,
            tuple(map(CopiedRows.from_json, read.get("copied", ()))),
            RoundTrip.from_json(trip) if (trip := read.get("trip")) else None,
        )
