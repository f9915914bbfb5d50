"""Who speaks where in some samples of the batches, and what of it is trained.

As `ftlab.probes.tokens.row_samples`, with a tokenizer that has a chat template. What is
read before the facts of the template are there is kept until then, at the latest until
watching ends. Written down are positions, roles and counts, and nothing of the text.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.tokens.pieces import PieceBook
from ftlab.probes.tokens.row_samples import RowSamples
from ftlab.probes.tokens.sample_reading import Row, is_foreign, samples_in
from ftlab.probes.tokens.template_survey import TemplateSurvey, left_as_it_was
from ftlab.probes.tokens.turns import turns_in
from ftlab.records.event import Event
from ftlab.records.handle import Handle
from ftlab.records.sample_facts import SampleFacts
from ftlab.records.template import TemplateFacts
from ftlab.records.token_row import IGNORED, Turn
from ftlab.records.turn_facts import SampleTurns, TurnFacts

WAIT = 5.0
"""Seconds that the end of a run waits for the facts of a template."""

TURNS = 64
"""Parts of turns of one sample that are kept."""


class TurnSamples(RowSamples):
    """Write down who speaks where, and what of it is trained."""

    rows: ClassVar[int] = 8
    positions: ClassVar[int] = 1 << 13

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin to find out what the template does."""
        self._survey = TemplateSurvey(subject.tokenizer)
        self._book: PieceBook | None = None
        self._told = False
        self._waiting: list[tuple[int, Sequence[Row]]] = []
        return super().attach(subject)

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Copy some rows, where there is a template."""
        return super().on_batch(moment, inputs) if self._survey.wanted else ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over the rows; and those that waited, when the facts are there."""
        found = tuple(super().on_gradients(moment))
        if found or not self._waiting or not self._survey.ready():
            return found
        return (self._late(),)

    def on_handover(self, moment: Moment) -> Iterable[Reading]:
        """Tell of what still waits; nothing more comes for a run that is over."""
        if not self._waiting and not self._held:
            return ()
        self._survey.ready(WAIT)  # what this step has read arrives after this
        return (self._late(),)

    def _late(self) -> Reading:
        def finish(_: NDArray[np.float32]) -> Iterator[Event]:
            yield from self._tell((), -1)

        return Reading(torch.zeros(0), finish)

    def _tell(self, rows: Sequence[Row], step: int) -> Iterator[Event]:
        if rows:
            self._waiting.append((step, rows))
        if not self._survey.ready():
            return
        waiting, self._waiting = self._waiting, []
        facts = self._survey.facts()
        if facts is None or not waiting:
            return
        for at, kept in waiting:
            with left_as_it_was(self._tokenizer):
                read = [each for row in kept for each in self._samples(row, facts)]
            samples = [each.as_json() for each in read]
            words = f"the turns of {len(samples)} samples were read"
            detail: dict[str, Any] = {"samples": samples}
            if not self._told:
                detail["template"] = facts.as_json()
                self._told = True
            yield Event("turns", at, time.time(), words, detail)

    def _samples(self, row: Row, facts: TemplateFacts) -> Iterator[SampleTurns]:
        if self._book is None:
            self._book = book_of(self._tokenizer, facts)
        yield from turns_of(row, facts, self._book, self._special or {})


def book_of(tokenizer: Any, facts: TemplateFacts) -> PieceBook:
    """Begin a book of pieces with all marks that a template may write."""
    book = PieceBook(tokenizer, facts)
    book.look_up(sorted(_marks(tokenizer)))
    return book


def turns_of(
    row: Row,
    facts: TemplateFacts,
    book: PieceBook,
    special: Mapping[str, frozenset[int]],
) -> Iterator[SampleTurns]:
    """Yield who speaks where in each sample of a row."""
    micro, number, columns = row
    book.look_up(np.unique(columns.ids).tolist())
    for sample in samples_in(columns, special, number, micro):
        ids = columns.ids[sample.start : sample.end]
        texts = book.joined(ids)
        turns = turns_in(ids, book.pieces, facts, texts=texts)
        foreign = is_foreign(sample)
        if foreign:  # what is trained is not this text
            sample = replace(sample, labelled=False, trained=0)
        said = _facts_of(sample, turns, None if foreign else columns.labels)
        if facts.reasoning_end.strip():
            own = [book.pieces[each].text for each in ids.tolist()]
            known = [texts.get(at, text) for at, text in enumerate(own)]
            said = _with_reasoning(said, known, facts.reasoning_end.strip())
        yield said


def _marks(tokenizer: Any) -> set[int]:
    """Give the ids of all added tokens: marks that a template may write."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    known = getattr(inner, "added_tokens_decoder", None)
    return set(known) if isinstance(known, Mapping) else set()


def _with_reasoning(said: SampleTurns, texts: list[str], end: str) -> SampleTurns:
    """Say of each text whether a reasoning comes before its end."""
    turns = []
    for turn in said.turns:
        held = turn.start - said.start, turn.end - said.start
        before, found, _ = "".join(texts[slice(*held)]).partition(end)
        # an opening mark alone is no reasoning
        words = before.split()
        holds = turn.part == "text" and bool(found) and len(words) > 1
        turns.append(replace(turn, reasoning=holds))
    return replace(said, turns=tuple(turns))


def _facts_of(
    sample: SampleFacts, turns: Sequence[Turn], labels: NDArray[np.int64] | None
) -> SampleTurns:
    said = []
    for turn in turns[:TURNS]:
        start, end = turn.start + sample.start, turn.end + sample.start
        held = np.zeros(0, int)
        if labels is not None:
            held = np.flatnonzero(labels[start:end] != IGNORED)
        first = start + int(held[0]) if len(held) else -1
        said.append(TurnFacts(start, end, turn.role, turn.part, len(held), first))
    return SampleTurns(
        sample.row,
        sample.micro_batch,
        sample.start,
        sample.end,
        sample.labelled,
        sample.trained,
        tuple(said),
    )
