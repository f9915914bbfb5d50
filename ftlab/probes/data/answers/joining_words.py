"""Last words behind which an English text goes on, where its sentences have stops."""

import re

_WORDS = frozenset(
    {
        "a",
        "of",
        "to",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "has",
        "have",
        "in",
        "on",
    }
    | {"for", "with", "from", "by", "at", "as", "into", "than", "if", "when", "while"}
)
"""Words that a sentence may end with, and rarely does."""

VERSES, SHORT_LINE = 3, 60
"""Lines that make a verse, and characters of each."""

_STOP = re.compile(r"[a-z\d)`'\"\u201d][.!?]\s+[A-Z`'\"\u201c]")
_ENTRY = re.compile(r"\s*(?:[-*+#>|\u2022]|\d+[.)])")


def goes_on(text: str, word: str) -> bool:
    """Tell whether a text is prose with full stops that ends with such a word.

    Entries of lists, headings, verse and texts of one sentence end with any word.

    Examples
    --------
    >>> from ftlab.probes.data.answers.joining_words import goes_on
    >>> goes_on("It is a bridge. It leads to", "to"), goes_on("Where to go to", "to")
    (True, False)
    """
    if word not in _WORDS or _STOP.search(text) is None:
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    verse = len(lines) >= VERSES and all(len(e) <= SHORT_LINE for e in lines[-VERSES:])
    return not verse and _ENTRY.match(lines[-1]) is None
