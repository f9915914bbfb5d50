"""Answers that can be read off the prompt: behind the same words in most rows."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ftlab.probes.data.row_sets import KEPT, RowSet
from ftlab.probes.data.rows.parts import Part

LONGEST = 40
"""Characters of an answer that may be a label."""

FEWEST, KNOWN, FOLLOWED = 5, 1000, 8
"""Rows from which on it is told; words that are counted, and that are followed up."""

SURE = 0.9
"""Share of the prompts with these words in which the answer follows."""

_PROMISE = re.compile(
    r"(answer|solution|output|completion|response|expected|gold|target|label|class"
    r"|category|sentiment|prediction)\W*$",
    re.IGNORECASE,
)
"""Words that promise an answer."""

_BEFORE = re.compile(r"([A-Za-z_]\w{0,24}[\"']?\s{0,2}[:=>]\s{0,2}[\"'(\[]?)$")


@dataclass(slots=True)
class Field:
    """Words of prompts, and what follows them.

    Attributes
    ----------
    rows, hits
        Prompts that have the words since they are followed up, and those in which
        nothing but the answer follows them.
    answers
        The answers of these.
    spots
        Row, part and character of the first ones.
    all_rows
        All of them.
    """

    rows: int = 0
    hits: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    spots: list[tuple[int, Part, int]] = field(default_factory=list)
    all_rows: RowSet = field(default_factory=RowSet)


class LabelLeaks:
    """Watches what stands before the answer where a prompt holds it.

    An answer that is copied out of a text, or one of the options that all prompts list,
    stands behind other words each time, or the words are followed by others as well.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, Part, str]] = {}
        self._fields: dict[str, Field] = {}
        self._answers: Counter[str] = Counter()

    def look(self, number: int, before: Sequence[Part], answer: str) -> None:
        """Take the last answer of a row in, and the texts before it."""
        if not 0 < len(answer) <= LONGEST or not (answer := answer.strip()):
            return
        if len(self._answers) < KNOWN:
            self._answers[answer] += 1
        for part in before:
            if answer in part.text:
                self._remember((number, part), answer)
            for words, known in self._fields.items():
                if words in part.text:
                    _follow(known, words, (number, part), answer)

    def _remember(self, place: tuple[int, Part], answer: str) -> None:
        """Follow words up once they stand before the answer in a second row."""
        text = place[1].text
        words = _last_words(text, answer) or _words_before(text, text.find(answer))
        if not words or words in self._fields:
            return
        first = self._seen.pop(words, None)
        if first is None:
            if len(self._seen) < KNOWN:
                self._seen[words] = (*place, answer)
        elif len(self._fields) < FOLLOWED:
            self._fields[words] = Field()
            _follow(self._fields[words], words, first[:2], first[2])

    def found(self) -> list[tuple[str, Field]]:
        """Return the words that give the answer away."""
        common = max(self._answers.values(), default=0)
        total = max(sum(self._answers.values()), 1)
        return [
            (words, known)
            for words, known in self._fields.items()
            if known.hits >= FEWEST
            and 2 <= len(known.answers) <= known.hits / 1.5
            and 1 - known.hits / known.rows <= (1 - SURE) * 2 * (1 - common / total)
        ]


def _words_before(text: str, at: int) -> str:
    """Return the words before a value, as far as a colon or the like follows them."""
    found = _BEFORE.search(text, max(0, at - 30), at)
    return found.group(1) if found else ""


def _last_words(text: str, answer: str) -> str:
    """Return the words that promise an answer, where it ends the text behind them.

    Among the options, which a prompt often lists, it stands as well.
    """
    end = text.rstrip()
    if not end.endswith(answer):
        return ""
    words = _words_before(end, len(end) - len(answer))
    return words if _PROMISE.search(words) else ""


def _follow(known: Field, words: str, place: tuple[int, Part], answer: str) -> None:
    """See whether nothing but the answer follows the words, wherever they stand."""
    text = place[1].text
    first, at, same, others = -1, text.find(words), 0, 0
    while at >= 0 and others == 0:
        start = at + len(words)
        value = text[start : start + len(answer) + 1]
        if value.strip():
            follows = value.startswith(answer) and not value[len(answer) :].isalnum()
            same, others = same + follows, others + (not follows)
            first = start if first < 0 else first
        at = text.find(words, start)
    if not same and not others:
        return
    known.rows += 1
    if same and not others:
        known.hits += 1
        known.answers[answer] += 1
        known.all_rows.add(place[0])
        if len(known.spots) < KEPT:
            known.spots.append((place[0], place[1], first))
