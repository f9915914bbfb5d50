"""Long answers that stand in their prompt, behind words that promise an answer.

What is copied out of a text, corrected or repeated on purpose stands behind other
words.
"""

from collections.abc import Sequence

from ftlab.probes.data.across.label_leaks import (
    FEWEST,
    LONGEST,
    PROMISE,
    SURE,
    Field,
    follow,
    words_before,
)
from ftlab.probes.data.rows.parts import Part

FOLLOWED, BEGIN = 8, 16
"""Words that are followed up; letters of an answer that are looked for first."""


class AnswerLeaks:
    """Watches what stands before a long answer where a prompt holds it.

    Examples
    --------
    >>> from ftlab.probes.data.across.answer_leaks import AnswerLeaks
    >>> from ftlab.probes.data.rows.parts import Part
    >>> leaks = AnswerLeaks()
    >>> for at in range(5):
    ...     answer = f"It is a bridge of {at} arches, which crosses the river."
    ...     asked = Part("prompt", -1, "user", f"What? Answer: {answer}")
    ...     leaks.look(at, [asked], answer)
    >>> [(words, known.hits) for words, known in leaks.found()]
    [('Answer: ', 5)]
    """

    def __init__(self) -> None:
        self._fields: dict[str, Field] = {}

    def look(self, number: int, before: Sequence[Part], answer: str) -> None:
        """Take the last answer of a row in, and the texts before it."""
        answer = answer.strip()
        if len(answer) <= LONGEST:
            return
        begin = answer[:BEGIN]
        for part in before:
            text = part.text  # a few letters are found sooner than a long text
            if len(text) > len(answer) and begin in text and answer in text:
                self._remember(text, answer)
            for words, known in self._fields.items():
                if words in text:
                    follow(known, words, (number, part), answer)

    def _remember(self, text: str, answer: str) -> None:
        words = words_before(text, text.find(answer))
        if PROMISE.search(words) and len(self._fields) < FOLLOWED:
            self._fields.setdefault(words, Field(most=FEWEST))

    def found(self) -> list[tuple[str, Field]]:
        """Return the words that give the answer away."""
        return [
            (words, known)
            for words, known in self._fields.items()
            if len(known.answers) >= FEWEST and known.hits >= SURE * known.rows
        ]
