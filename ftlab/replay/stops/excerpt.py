"""Source text around the lines of a stop, and the calls that led to it.

Everything is read through `linecache`, which knows files and the cells of a notebook.
"""

import itertools
import linecache
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from ftlab.records.texts import Excerpt as Excerpt, Listing as Listing
from ftlab.replay.tracing.site import INSTALLED, Line, Site, is_unseen, shown

CONTEXT = 2
"""Lines shown above and below the one that is meant."""
DEEPEST = 40
"""Innermost calls that a stack shows at most."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One call on the way to an operation.

    Attributes
    ----------
    place
        The line that runs, as reports name it.
    code
        Its text.
    yours
        Whether it stands outside of installed packages.
    """

    place: str
    code: str
    yours: bool

    def __repr__(self) -> str:
        mark = ">" if self.yours else " "
        return f"{mark} {self.place}" + (f"\n      {self.code}" if self.code else "")


def excerpt_of(role: str, line: str) -> Excerpt | None:
    """Read the text around ``line``; ``None`` where its file cannot be read."""
    if not isinstance(line, Line) or line.number < 1:
        return None
    known = linecache.getlines(line.file)
    if len(known) < line.number:
        return None
    first = max(line.number - CONTEXT, 1)
    chosen = [text.rstrip() for text in known[first - 1 : line.number + CONTEXT]]
    while chosen and not chosen[-1] and first + len(chosen) - 1 > line.number:
        chosen.pop()
    while not chosen[0] and first < line.number:
        chosen, first = chosen[1:], first + 1
    lines = textwrap.dedent("\n".join(chosen)).split("\n")
    return Excerpt(role, str(line), first, line.number, tuple(lines))


def excerpts(site: Site | None) -> Listing[Excerpt]:
    """Return the texts around the lines of ``site``, the most telling first.

    In backward the line that made the forward operation tells most.
    """
    if site is None:
        return Listing()
    wanted = [("your line", site.user_line), ("library", site.library_line)]
    if site.forward is not None:
        made = site.forward
        wanted.insert(0, ("forward", made.library_line or made.user_line))
        wanted.insert(0, ("forward", made.user_line))
    found: dict[str, Excerpt] = {}
    for role, line in wanted:
        excerpt = excerpt_of(role, line) if line not in found else None
        if excerpt is not None:
            found[line] = excerpt
    return Listing(found.values())


def stack_above(frame: FrameType | None) -> Listing[Frame]:
    """Return the calls that led to ``frame``, outermost first, without the internals.

    Frames of torch, of the standard library and of the debugger tell nothing.
    """
    calls = itertools.islice(_frames(frame), DEEPEST)
    return Listing(reversed(tuple(calls)))


def _frames(frame: FrameType | None) -> Iterator[Frame]:
    while frame is not None:
        file, number = frame.f_code.co_filename, frame.f_lineno
        if not is_unseen(file):
            code = linecache.getline(file, number).strip()
            place = shown(file, number, frame.f_code.co_name)
            yield Frame(place, code, not file.startswith(INSTALLED))
        frame = frame.f_back
