"""The end of a message about a name that does not exist: which ones are near."""

import difflib
from collections.abc import Iterable


def near(name: str, names: Iterable[str]) -> str:
    """Return ``"near ones are 'loss'"``, or all names when none is near."""
    everything = sorted(set(names))
    found = difflib.get_close_matches(name, everything, n=3, cutoff=0.5)
    if found:
        return "near ones are " + ", ".join(map(repr, found))
    if not everything:
        return "there are none yet"
    return "there are " + ", ".join(map(repr, everything))
