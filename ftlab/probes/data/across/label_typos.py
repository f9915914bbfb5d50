"""Labels that are misspelt, one letter from a class and hardly ever written, or cut."""

from collections import Counter
from collections.abc import Mapping

FEWEST, SHORTEST, VARIANTS = 50, 5, 2
"""Rows and letters of a class that is misspelt, and misspellings that prove it."""

OFTEN, SELDOM = 0.2, 0.05
"""Share of the largest class that each class has, and of its own that a misspelling."""


CUT, SHORTER, RARER = 3, 0.6, 0.3
"""Letters of a class that are left where it is cut, how much of its length these are at
most, and how often it is written so, at most, of all times."""


def misspelt(counts: Mapping[str, int]) -> dict[str, str]:
    """Return labels that are misspelt or cut with what they should be.

    Where one rare label is like no class there are rare classes, and these may be like
    one by chance.

    Parameters
    ----------
    counts
        Rows of each label, in one spelling of capitals and spaces.

    Examples
    --------
    >>> from ftlab.probes.data.across.label_typos import misspelt
    >>> counts = {"positive": 90, "negative": 80, "postive": 3, "negatvie": 1}
    >>> misspelt(counts)
    {'postive': 'positive', 'negatvie': 'negative'}
    >>> misspelt({**counts, "mixed": 2})
    {}
    >>> misspelt({"positive": 90, "negative": 80, "pos": 20, "neg": 9})
    {'pos': 'positive', 'neg': 'negative'}
    """
    top = max(counts.values(), default=0)
    classes = [each for each, n in counts.items() if n >= max(FEWEST, OFTEN * top)]
    found = {}
    for label in counts.keys() - set(classes):
        cut = [each for each in classes if _is_cut(label, each)]
        near = cut or [each for each in classes if _is_near(label, each)]
        often = RARER if cut else SELDOM
        if len(near) != 1 or counts[label] > often * counts[near[0]]:
            return {}
        found[label] = near[0]
    return dict(sorted(found.items(), reverse=True)) if len(found) >= VARIANTS else {}


def _is_cut(label: str, known: str) -> bool:
    """Tell whether a label is the beginning of another one; an ending left is none."""
    begin = label.rstrip(".")
    short = CUT <= len(begin) <= SHORTER * len(known)
    return short and begin.isalpha() and known.startswith(begin)


def _is_near(label: str, known: str) -> bool:
    """Tell whether a letter within a word is lost, doubled, wrong, or in its place."""
    words = (label + known).replace(" ", "").replace("_", "").isalpha()
    if not words or len(known) < SHORTEST or abs(len(label) - len(known)) > 1:
        return False
    if label.startswith(known) or known.startswith(label) or label[:1] != known[:1]:
        return False  # an ending or a beginning makes another word
    same = next(
        at
        for at, pair in enumerate(zip(label, known, strict=False))
        if pair[0] != pair[1]
    )
    mine, its = label[same:], known[same:]
    swapped = mine[:2] == its[1::-1] and mine[2:] == its[2:]
    return swapped or mine[1:] in (its[1:], its) or mine == its[1:]


def by_spelling(counts: Mapping[str, int], spelt: Mapping[str, str]) -> Counter[str]:
    """Add up the rows of all spellings of a label.

    Examples
    --------
    >>> from ftlab.probes.data.across.label_typos import by_spelling
    >>> by_spelling({"Yes": 3, "yes": 2}, {"Yes": "yes", "yes": "yes"})
    Counter({'yes': 5})
    """
    added: Counter[str] = Counter()
    for text, count in counts.items():
        added[spelt[text]] += count
    return added
