"""Words that are all looked for in one pass over a text."""

from collections.abc import Callable, Iterable, Sequence, Set as AbstractSet

Find = Callable[[bytes], AbstractSet[str]]

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
    return _all_at_once(known, spelt) or _one_by_one(known, spelt)


def _all_at_once(known: Sequence[str], spelt: list[bytes]) -> Find | None:
    """Look for fifty words in the time of three; ``None`` without ahocorasick_rs."""
    try:
        from ahocorasick_rs import BytesAhoCorasick
    except ImportError:
        return None
    search = BytesAhoCorasick(spelt).find_matches_as_indexes

    def find(text: bytes) -> AbstractSet[str]:
        found = search(text, overlapping=True)
        return {known[each[0]] for each in found} if found else _NONE

    return find


def _one_by_one(known: Sequence[str], spelt: list[bytes]) -> Find:
    pairs = list(zip(spelt, known, strict=True))
    return lambda text: {word for each, word in pairs if each in text}
