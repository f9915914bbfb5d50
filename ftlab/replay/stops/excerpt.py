"""Source text around the lines of a stop, and the calls that led to it.

Everything is read through `linecache`, which knows files and the cells of a notebook.
"""

import itertools
import linecache
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType

from ftlab.records.texts import Excerpt as Excerpt, Listing as Listing
from ftlab.replay.stops.variables import Variables, variables_of
from ftlab.replay.torch_private import graph_task
from ftlab.replay.tracing.site import (
    INSTALLED,
    Line,
    Site,
    is_optimizer,
    is_unseen,
    shown,
)

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
    locals
        Its variables, while the run waits; tensors are copies.
    """

    place: str
    code: str
    yours: bool
    locals: Variables = field(default_factory=Variables, repr=False, compare=False)

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


def stack_above(frame: FrameType | None, *, optimizer: bool = False) -> Listing[Frame]:
    """Return the calls that led to ``frame``, outermost first, without the internals.

    Frames of torch, of the standard library and of the debugger tell nothing.

    Parameters
    ----------
    frame
        The innermost one.
    optimizer
        Whether torch's own optimizers are to be shown.
    """
    calls = itertools.islice(_frames(frame, optimizer=optimizer), DEEPEST)
    return Listing(reversed(tuple(calls)))


def waiting_frame() -> FrameType:
    """Return the caller's frame; in autograd's own threads that of ``backward``.

    An accelerator's backward runs in threads that no code of the user has called.
    """
    here = sys._getframe(1)  # noqa: SLF001  inspect is far slower
    if graph_task() == -1 or _is_in_backward(here):
        return here
    everywhere = sys._current_frames().values()  # noqa: SLF001  no public one
    return next((frame for frame in everywhere if _is_in_backward(frame)), here)


def _is_in_backward(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "_engine_run_backward":
            return True
        frame = frame.f_back
    return False


def _frames(frame: FrameType | None, *, optimizer: bool) -> Iterator[Frame]:
    while frame is not None:
        file, number = frame.f_code.co_filename, frame.f_lineno
        if (optimizer and is_optimizer(file)) or not is_unseen(file):
            code = linecache.getline(file, number).strip()
            place = shown(file, number, frame.f_code.co_name)
            yours = not file.startswith(INSTALLED)
            yield Frame(place, code, yours, variables_of(frame))
        frame = frame.f_back
