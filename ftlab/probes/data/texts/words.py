"""Words that are all looked for in one pass over a text."""

from collections.abc import Callable, Iterable, Sequence, Set as AbstractSet

Find = Callable[[bytes], AbstractSet[str]]

LONG = 1 << 18
"""Bytes of a text from which on the words are looked for one by one.

The search for all of them gives every place, which may be as many as there are bytes.
"""

_NONE: frozenset[str] = frozenset()


def finder(words: Iterable[str]) -> Find:
    """Return what tells which of some words stand in a text, given in UTF-8.

    Examples
    --------
    >>> from ftlab.probes.data.texts.words import finder
    >>> find = finder(["hf_", "_x00", "def "])
    >>> sorted(find(b"hf_x00")), find(b"definite")
    (['_x00', 'hf_'], frozenset())
    """
    known = tuple(dict.fromkeys(words))
    spelt = [word.encode("utf-8", "surrogatepass") for word in known]
    pairs = list(zip(spelt, known, strict=True))

    def one_by_one(text: bytes) -> AbstractSet[str]:
        return {word for each, word in pairs if each in text}

    return _all_at_once(known, spelt, one_by_one) or one_by_one


def _all_at_once(
    known: Sequence[str], spelt: list[bytes], one_by_one: Find
) -> Find | None:
    """Look for all words in the time of three; ``None`` without ahocorasick_rs."""
    try:
        from ahocorasick_rs import BytesAhoCorasick
    except ImportError:
        return None
    search = BytesAhoCorasick(spelt).find_matches_as_indexes

    def find(text: bytes) -> AbstractSet[str]:
        if len(text) > LONG:
            return one_by_one(text)
        found = search(text, overlapping=True)
        return {known[each[0]] for each in found} if found else _NONE

    return find
