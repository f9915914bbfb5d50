"""Where texts begin and end in rows of tokens, and whether the end is learnt."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SHOWN = 4
"""Lines of one kind that are told, before the rest is counted."""


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """How one answer ends.

    Attributes
    ----------
    message
        Number within the row's conversation; -1 where no turns are known.
    last
        Position of the answer's last token.
    terminator
        Position of the token that ends it; ``None`` where none does.
    trained, end_trained
        Whether any of its tokens has a label that counts, and whether its terminator
        has; ``None`` without labels.
    cut
        Whether the row ends with it: it may be longer than the row.
    """

    message: int
    last: int
    terminator: int | None
    trained: bool | None = None
    end_trained: bool | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class RowEnds:
    """Beginnings and ends of one row.

    Attributes
    ----------
    source
        Of the row.
    bos, eos
        Positions within attention.
    doubled_bos
        Those of a BOS right behind the BOS that begins a text.
    inner_eos
        Those of an EOS that ends no turn and has a text behind it, which attends to
        what stands before.
    joined
        Positions at which another conversation begins within the same document.
    answers
        In order.
    generation_prompt
        Position at which the opening of an answer that is not there begins, where it is
        trained; ``None`` where there is none.
    """

    source: str
    bos: tuple[int, ...] = ()
    eos: tuple[int, ...] = ()
    doubled_bos: tuple[int, ...] = ()
    inner_eos: tuple[int, ...] = ()
    joined: tuple[int, ...] = ()
    answers: tuple[AnswerEnd, ...] = ()
    generation_prompt: int | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What is wrong, each in a line; empty where all is well.

        Examples
        --------
        >>> from ftlab.records.token_ends import AnswerEnd, RowEnds
        >>> RowEnds("sample 0", answers=(AnswerEnd(1, 7, 8, True, False),)).words
        ('the end of answer 1 is not trained (position 8)',)
        """
        return tuple(self._words())

    def _words(self) -> Iterator[str]:
        if self.doubled_bos:
            yield f"BOS stands twice ({_at(self.doubled_bos)})"
        if self.inner_eos:
            yield f"EOS stands within the text ({_at(self.inner_eos)})"
        if self.joined:
            yield f"conversations follow without a border ({_at(self.joined)})"
        for each in self.answers:
            named = "the answer" if each.message < 0 else f"answer {each.message}"
            if each.terminator is None:
                cut = ", where the row ends" if each.cut else ""
                yield f"nothing ends {named} ({_at((each.last,))}{cut})"
            elif each.trained and each.end_trained is False:
                yield f"the end of {named} is not trained ({_at((each.terminator,))})"
        if self.generation_prompt is not None:
            place = _at((self.generation_prompt,))
            yield f"the opening of another answer is trained ({place})"


def _at(places: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, places[:4])) + (", ..." if len(places) > 4 else "")
    return f"position{'s' if len(places) > 1 else ''} {shown}"


@dataclass(frozen=True, slots=True)
class EndReport:
    """Beginnings and ends of a batch, and at what a generation stops.

    Attributes
    ----------
    rows
        As in the batch.
    written
        Ids that end answers in these rows, by how often.
    stops
        Ids at which a generation would stop, by where that is said:
        ``"generation_config"``, ``"config"``, ``"tokenizer"``; and ``"template"``.
    names
        Pieces of these ids.
    """

    rows: tuple[RowEnds, ...]
    written: Mapping[int, int] = field(default_factory=dict)
    stops: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)

    @property
    def generation_stops(self) -> tuple[int, ...]:
        """Ids at which ``generate`` stops, by the first place that says any."""
        names = ("generation_config", "config", "tokenizer")
        return next((self.stops[n] for n in names if self.stops.get(n)), ())

    @property
    def unheard(self) -> tuple[int, ...]:
        """Ids that end answers here and at which no generation would stop."""
        stops = self.generation_stops
        return tuple(each for each in self.written if stops and each not in stops)

    def __repr__(self) -> str:
        return "\n".join(self.words) or "nothing ends here"

    @property
    def words(self) -> tuple[str, ...]:
        """What is worth saying, each in a line.

        Examples
        --------
        >>> from ftlab.records.token_ends import EndReport, RowEnds
        >>> stops = {"config": (2,)}
        >>> report = EndReport((RowEnds("sample 0"),), {7: 3}, stops, {7: "<end>"})
        >>> for line in report.words:
        ...     print(line)
        answers end with <end> (7)
        a generation stops at 2, by the model's config
        no generation would stop at <end> (7)
        """
        lines = []
        if self.written:
            lines.append(f"answers end with {self._named(tuple(self.written))}")
        by = next(
            (
                k
                for k in ("generation_config", "config", "tokenizer")
                if self.stops.get(k)
            ),
            "",
        )
        if by:
            said = {"config": "the model's config", "tokenizer": "the tokenizer's EOS"}
            stops = self._named(self.generation_stops)
            lines.append(f"a generation stops at {stops}, by {said.get(by, by)}")
        if self.unheard:
            lines.append(f"no generation would stop at {self._named(self.unheard)}")
        lines += self._rows()
        return tuple(lines)

    def _rows(self) -> Iterator[str]:
        """Say of rows what is wrong with them; of many the same only once."""
        told: dict[str, list[str]] = {}
        for row in self.rows:
            for each in row.words:
                told.setdefault(each.partition(" (")[0], []).append(
                    f"{row.source}: {each}"
                )
        for same in told.values():
            more = len(same) - SHOWN
            yield from same[:SHOWN]
            if more > 0:
                yield f"and the same of {more} more"

    def __str__(self) -> str:
        return "\n".join(self.words)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _named(self, ids: tuple[int, ...]) -> str:
        known = self.names
        return ", ".join(f"{known[i]} ({i})" if i in known else str(i) for i in ids)


@dataclass(frozen=True, slots=True)
class Repaired:
    """A batch as it should have been, and what was done.

    Attributes
    ----------
    batch
        A copy with the same columns and kinds of values.
    changes
        What differs from the batch that was given, in words.
    advice
        What to change in the code, so that batches come out right.
    """

    batch: Mapping[str, object]
    changes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    def __str__(self) -> str:
        more = len(self.changes) - SHOWN
        lines = [*self.changes[:SHOWN]]
        lines += [f"and {more} more"] if more > 0 else []
        lines += [f"in the code: {each}" for each in self.advice]
        return "\n".join(lines) or "nothing had to be changed"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))
