"""Looks at the training thread's stack again and again: which line takes the time."""

import collections
import linecache
import sys
import threading
import types
from collections.abc import Callable

from ftlab.probes.holding.sources import shown_place
from ftlab.probes.holding.walk import is_library
from ftlab.records.step_time import HotPlace

PERIOD = 0.01
"""Seconds between two looks: one takes about 30 us, which is 0.3 % of the time."""

PERIOD_LATER = 0.05
"""The same after `FIRST` looks."""

FIRST = 2000

DEEP = 200
"""Frames that are gone through from the innermost one."""

_OWN_WORK = "shield.<locals>.shielded"
"""All that ftlab does on the training thread runs within this function."""

Key = tuple[str, str, int, str, str]


class Sampler:
    """A thread that counts where another thread is found.

    Parameters
    ----------
    phase
        Tells the phase that is under way.
    """

    def __init__(self, phase: Callable[[], str]) -> None:
        self._phase = phase
        self._counts: collections.Counter[Key] = collections.Counter()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._watched = 0

    @property
    def samples(self) -> int:
        """How often the thread was found in code that is not ftlab's."""
        return self._counts.total()

    def start(self, thread: int) -> None:
        """Begin to look at a thread."""
        self._watched = thread
        self._thread = threading.Thread(
            target=self._run, name="ftlab-sampler", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Look no more; what was counted stays."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)

    def places(self, most: int = 24) -> tuple[HotPlace, ...]:
        """Return the most frequent places."""
        return tuple(
            HotPlace(
                phase=phase,
                place=shown_place(file, line),
                function=function,
                line=linecache.getline(file, line).strip(),
                library=library,
                samples=count,
            )
            for (phase, file, line, function, library), count in (
                self._counts.most_common(most)
            )
        )

    def _run(self) -> None:
        period = PERIOD
        while not self._ended.wait(period):
            frame = sys._current_frames().get(self._watched)  # noqa: SLF001
            key = _key(self._phase(), frame) if frame is not None else None
            del frame  # or its variables stay alive until the next look
            if key is not None:
                self._counts[key] += 1
                period = PERIOD if self.samples < FIRST else PERIOD_LATER


def _key(phase: str, innermost: types.FrameType) -> Key | None:
    """Find the user's line, and what it has called; nothing while ftlab works."""
    library = ""
    frame: types.FrameType | None = innermost
    for _ in range(DEEP):
        if frame is None:
            break
        name = frame.f_globals.get("__name__", "")
        top = name.partition(".")[0]
        if frame.f_code.co_qualname == _OWN_WORK:
            return None
        if not is_library(name):
            code = frame.f_code
            line = frame.f_lineno or 0  # between two lines there is none
            return phase, code.co_filename, line, code.co_name, library
        if not library and top not in sys.stdlib_module_names:
            library = f"{_package(name)} {frame.f_code.co_qualname}"
        frame = frame.f_back
    return None


def _package(name: str) -> str:
    """Return the package of a module; of torch its private part too."""
    top, _, rest = name.partition(".")
    second = rest.partition(".")[0]
    return f"{top}.{second}" if second.startswith("_") else top
