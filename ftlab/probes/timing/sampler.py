"""Looks at the training thread's stack again and again: which line takes the time."""

import _thread
import collections
import contextlib
import ctypes
import gc
import linecache
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.holding.sources import shown_place
from ftlab.probes.holding.walk import is_library
from ftlab.probes.own_time import own_time
from ftlab.records.step_time import HotPlace

PERIOD = 0.01
"""Seconds between two looks: one takes about 30 us, which is 0.3 % of the time."""

OFTEN, SELDOM = 100, 0.04
"""Looks after which they are so many seconds apart: a share is known to 5 % by then."""

AT_ONCE = 0.001
"""Seconds from asking to looking, by which nobody can have waited for the asking."""

DEEP = 200
"""Frames that are gone through from the innermost one."""

_OWN_WORK = "shield.<locals>.shielded"
"""All that ftlab does on the training thread runs within this function."""

Key = tuple[str, str, int, str, str]


class Sampler:
    """Counts where the training thread is, at points that are safe.

    A thread of ours asks the interpreter for a call, as signals do; the main thread
    makes it between two of its own bytecodes, where its frames are whole. Looking at
    another thread's frames while it runs has shown objects that were none. So a
    training in another thread than the main one is not looked at.

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
        self._asked = False
        self._looks, self._period = 0, PERIOD
        self._last = self._asked_at = self._collecting = 0.0
        self._call = _PENDING(self.look)

    @property
    def samples(self) -> int:
        """How many periods were spent in code that is not ftlab's."""
        return self._counts.total()

    def start(self, thread: int) -> None:
        """Begin to look at a thread, if it is the main one."""
        if thread != threading.main_thread().ident:
            return
        self._last = time.perf_counter()
        self._thread = threading.Thread(
            target=self._run, name="ftlab-sampler", daemon=True
        )
        self._thread.start()
        gc.callbacks.append(self.see_collection)

    def stop(self) -> None:
        """Look no more; what was counted stays."""
        self._ended.set()
        if self.see_collection in gc.callbacks:
            gc.callbacks.remove(self.see_collection)
        if self._thread is not None:
            self._thread.join(timeout=1.0)

    def places(self, most: int = 24) -> tuple[HotPlace, ...]:
        """Return the most frequent places."""
        return tuple(
            HotPlace(
                phase=phase,
                place=shown_place(file, line) if file else "",
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
        while not self._ended.wait(self._period):
            if not self._asked:
                self._asked = True
                _calls[id(self)] = self._call
                self._asked_at = time.perf_counter()
                ctypes.pythonapi.Py_AddPendingCall(self._call, None)

    def look(self, _: Any) -> int:
        """Count the line that runs; the interpreter calls it and must see no error."""
        try:
            with own_time:
                if not self._collecting:  # else it is counted when that ends
                    self._count(sys._getframe(1))  # noqa: SLF001  the line that waits for us
        except KeyboardInterrupt:
            _thread.interrupt_main()  # it was meant for the user's code
        except Exception:  # noqa: BLE001  a look that fails is none
            self._ended.set()
        _calls.pop(id(self), None)
        self._asked = False
        return 0

    def see_collection(self, moment: str, _: Any) -> None:
        """Count a long collection at the line that has begun it: nobody looks then."""
        if threading.current_thread() is not threading.main_thread():
            return
        if moment == "start":
            self._collecting = time.perf_counter()
            return
        began, self._collecting = self._collecting, 0.0
        if time.perf_counter() - began >= PERIOD:
            with own_time, contextlib.suppress(Exception):
                self._last, self._asked_at = began, 0.0
                self._count(sys._getframe(1))  # noqa: SLF001  as in look

    def _count(self, frame: types.FrameType) -> None:
        now = time.perf_counter()
        self._looks += 1
        if self._looks == OFTEN:
            self._period = SELDOM
        key = None if self._ended.is_set() else _key(self._phase(), frame)
        waited = now - self._last > 2 * self._period
        if key is not None and waited and now - self._asked_at < AT_ONCE:
            key = (key[0], "", 0, "", "")  # Python was locked up to now, a line before
        if key is not None:
            self._counts[key] += max(round((now - self._last) / PERIOD), 1)
        self._last = now


# Called within whatever runs: Dynamo must neither compile them nor refuse to.
leave_to_python(Sampler.look, callees=True)
leave_to_python(Sampler.see_collection, callees=True)

_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)

_calls: dict[int, Any] = {}
"""What the interpreter has been asked to call, and must find alive."""


def _key(phase: str, innermost: types.FrameType) -> Key | None:
    """Find the user's line, and what it has called; nothing while ftlab works."""
    library = ""
    frame: types.FrameType | None = innermost
    for _ in range(DEEP):
        if frame is None:
            break
        code = frame.f_code
        _, kind = _libraries.get(id(code)) or _look_up(frame)
        if kind == _OWN_WORK:
            return None
        if kind == _USERS:
            line = frame.f_lineno or 0  # between two lines there is none
            return phase, code.co_filename, line, code.co_name, library
        library = library or kind
        frame = frame.f_back
    return None


_USERS = "user's code"

_Known = tuple[types.CodeType, str]

_libraries: dict[int, _Known] = {}
"""Each function of a library, by ``id``, and its name; ``""`` for Python's own.

Some 20 are asked for at each look, so they must be at hand; code hashes slowly.
"""


def _look_up(frame: types.FrameType) -> _Known:
    code = frame.f_code
    name = frame.f_globals.get("__name__", "")
    if not is_library(name):
        return code, _USERS
    if code.co_qualname == _OWN_WORK:
        kind = _OWN_WORK
    elif name.partition(".")[0] in sys.stdlib_module_names:
        kind = ""
    else:
        kind = f"{_package(name)} {code.co_qualname}"
    return _libraries.setdefault(id(code), (code, kind))


def _package(name: str) -> str:
    """Return the package of a module; of torch its private part too."""
    top, _, rest = name.partition(".")
    second = rest.partition(".")[0]
    return f"{top}.{second}" if second.startswith("_") else top
