"""Translations whose source and target were exchanged, in some of the rows.

The words of each side are learnt from the set itself: those that stand on one side
again and again, and on the other one hardly ever. A row is exchanged if both its texts
have words of the other side, and none of their own.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ftlab.probes.data.scan import Scan
from ftlab.probes.data.text_store import sides_of

LEARNT, FEWEST = 20_000, 100
"""Rows that words are learnt from at most, and at least."""

OFTEN, FIRST, TIMES = 5, 2.0, 10.0
"""How often a word stands on its side, and how many times as often as on the other:
at first, and once rows that look exchanged were put right."""

WORDS = 2
"""Words of the other side that each text has at least."""

ROWS, MOST = 3, 0.3
"""Exchanged rows from which on it is no chance, and share up to which no habit."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]+")

Sides = tuple[frozenset[str], frozenset[str]]
Own = tuple[frozenset[str], frozenset[str]]


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text, each character where none is between them."""
    return frozenset(_WORD.findall(text[:1000].casefold()))


def learnt(rows: Sequence[Sides]) -> Own:
    """Return the words of one side alone, and of the other.

    Examples
    --------
    >>> from ftlab.probes.data.across.exchanged_sides import learnt, words_of
    >>> rows = [("The old bridge", "Die alte Br\u00fccke")] * 20
    >>> own = learnt([(words_of(one), words_of(two)) for one, two in rows])
    >>> sorted(own[0]), sorted(own[1])
    (['bridge', 'old', 'the'], ['alte', 'br\u00fccke', 'die'])
    """
    own = _own(rows, FIRST)
    turned = [row[::-1] if is_exchanged(row, own) else row for row in rows]
    return _own(turned, TIMES)


def _own(rows: Sequence[Sides], times: float) -> Own:
    counts = [Counter(word for row in rows for word in row[side]) for side in (0, 1)]
    one, two = (
        frozenset(
            word
            for word, count in mine.items()
            if count >= OFTEN and count >= times * others[word]
        )
        for mine, others in (counts, counts[::-1])
    )
    return one, two


def is_exchanged(row: Sides, own: Own) -> bool:
    """Tell whether both texts have words of the other side, and none of their own."""
    return all(
        len(words & theirs) >= WORDS and words.isdisjoint(mine)
        for words, mine, theirs in zip(row, own, own[::-1], strict=True)
    )


def exchanged_rows(scan: Scan) -> list[int]:
    """Return the rows of translations whose sides were exchanged."""
    texts, count = scan.texts, scan.rows
    if texts is None or scan.languages.rows < max(FEWEST, 0.95 * count):
        return []
    step = 1 + count // LEARNT
    own = learnt([_words(texts[row]) for row in range(0, count, step)])
    rows = list(_exchanged(scan, own))
    return rows if ROWS <= len(rows) <= MOST * count else []


def _exchanged(scan: Scan, own: Own) -> Iterator[int]:
    for row, kept in enumerate(scan.texts or ()):
        if is_exchanged(_words(kept), own):
            yield row


def _words(kept: str) -> Sides:
    asked, answered, _ = sides_of(kept)
    return words_of(asked), words_of(answered)


def report_languages(scan: Scan) -> None:
    """Report exchanged sides, and texts of another script than their column's."""
    exchanged = exchanged_rows(scan)
    for row in exchanged:
        says = "each text has words of the other column, and none of its own"
        scan.report("sides-exchanged", row, says=says, excerpt=scan.beginning)
    known = set(exchanged)
    for column, script, usual, rows in scan.languages.found():
        says = f"{script.capitalize()} letters; {usual.capitalize()} in nearly all"
        for row in rows:
            if row not in known:
                scan.report("text-of-other-script", row, column, says=says)
