"""Who holds memory, in names: how much lies where, and what of it grows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

MANY = "[...]"
"""Stands for each element of a list, or of a dictionary whose keys are no names."""

GRAPH = "<graph>"
"""Stands for all that an autograd graph holds."""

CLOSED = " > "
"""Begins the step to a variable that a function has closed over."""

GARBAGE = "<garbage>"
"""Root of what only holds itself, and waits for Python's collector."""

OUTSIDE = "<outside of Python>"
"""Root of what something holds that Python's collector does not know."""

Path = tuple[str, ...]
"""The steps from a name that a user knows to what is held."""

HolderKind = Literal[
    "cache",
    "closure",
    "collection",
    "dataset",
    "garbage",
    "hook",
    "notebook",
    "optimizer",
    "queue",
    "traceback",
    "unknown",
    "variable",
]
"""What kind of thing holds; ``"unknown"``: something outside of Python does."""


def path_text(path: Sequence[str]) -> str:
    """Write a path as one would write it in Python.

    Examples
    --------
    >>> from ftlab.records.holding import path_text
    >>> path_text(("", ".model", ".layers", "[0]", "._forward_hooks"))
    'model.layers[0]._forward_hooks'
    """
    known = path[1:] if path[0] in (GARBAGE, OUTSIDE) else path
    return "".join(known).removeprefix(".")


def names_on(path: Sequence[str]) -> list[str]:
    """Return the names that user code calls a holder by, the nearest first.

    Examples
    --------
    >>> from ftlab.records.holding import names_on
    >>> names_on(("", ".trainer", ".seen", "['loss']")), names_on(("step()", ".out"))
    (['seen', 'trainer'], ['out'])
    """
    named = [each for each in path if each.startswith((".", CLOSED))]
    return [each.rpartition(".")[2] for each in reversed(named)]


@dataclass(frozen=True, slots=True)
class Growth:
    """What kept growing, step by step, and what it hangs on.

    Attributes
    ----------
    path
        The steps to the holder.
    kind
        What kind of thing holds.
    what
        What is held: ``"graph"``, ``"tensor"``, ``"array"``, ``"text"``, ``"objects"``.
    count
        Things that it holds now.
    count_per_step, bytes_per_step
        How fast that grew between the first look and the last.
    bytes
        What it holds now.
    example
        One of the things: its dtype and shape, or its type.
    limit
        How many things it keeps at most; 0 where nothing limits it.
    threshold
        Bytes per step from which it is told.
    lines
        Places in the user's code that put something there: ``"train.py:12"`` and the
        line.
    emptied
        Places that take something out of it.
    """

    path: Path
    kind: HolderKind
    what: str
    count: int
    count_per_step: float
    bytes_per_step: float
    bytes: float
    example: str = ""
    limit: int = 0
    threshold: float = 0.0
    lines: tuple[tuple[str, str], ...] = ()
    emptied: tuple[tuple[str, str], ...] = ()
