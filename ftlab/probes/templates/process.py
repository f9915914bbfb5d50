"""One process that renders, and the guard that ends it when it takes too much."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import psutil

from ftlab.probes.templates.child import read_frame, write_frame
from ftlab.records.rendering import Refusal, RefusalKind, RenderedText

CHILD = Path(__file__).with_name("child.py")
WARM_UP = 120.0
"""Seconds that importing transformers may take; 1 to 6 were measured."""
OTHERS = 4
"""Times the limit that a rendering may wait while other programs have the processor."""
LOOK = 0.05
"""Seconds between looks at a rendering that has not ended."""
PASSED_ON = (
    *("CONDA_PREFIX", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LC_TIME", "PATH"),
    *("DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "TZ", "VIRTUAL_ENV"),
    *("SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "USERPROFILE", "WINDIR"),
)
"""What of the environment the process is given: no keys and tokens."""
SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "USE_TORCH": "0",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one rendering may use.

    Attributes
    ----------
    seconds
        Of the clock, once the process is warm.
    megabytes
        Beyond what the warm process holds.
    characters
        Of the rendered text: a million tokens, which take a tokenizer up to 15 s.
    template
        Characters of the template itself.
    """

    seconds: float = 2.0
    megabytes: int = 512
    characters: int = 5_000_000
    template: int = 1_000_000


class StoppedError(Exception):
    """The process is of no more use; says what the template did."""

    def __init__(self, words: str, kind: RefusalKind = "worker") -> None:
        super().__init__(words)
        self.refusal = Refusal(kind, words)


class Process:
    """One process; whoever meets `StoppedError` ends it."""

    def __init__(self, limits: Limits) -> None:
        environment = {n: os.environ[n] for n in PASSED_ON if n in os.environ}
        options: dict[str, Any] = (
            {"creationflags": 0x08000200}  # no window, no Ctrl-C of the console
            if sys.platform == "win32"
            else {"start_new_session": True}
        )
        try:
            self._process = subprocess.Popen(
                [sys.executable or "", "-P", str(CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**environment, **SETTINGS},
                **options,
            )
        except OSError as error:
            msg = f"no process could be started: {error}"
            raise StoppedError(msg) from error
        self._to = cast("BinaryIO", self._process.stdin)
        self._from = cast("BinaryIO", self._process.stdout)
        self._warm = False
        with contextlib.suppress(StoppedError):
            self.send(
                {
                    "path": [each for each in sys.path if each],
                    "parent": os.getpid(),
                    "bytes": limits.megabytes << 20,
                }
            )

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def warm_up(self) -> None:
        """Wait until it is ready."""
        if not self._warm:
            with _Guard(self._process, Limits(WARM_UP, 1 << 20)):
                ready = self._read(1 << 16)
            if ready is None:
                msg = "the process that renders does not start"
                raise StoppedError(msg)
            self._warm = True

    def send(self, request: dict[str, Any]) -> None:
        """Hand over what is to be rendered."""
        try:
            write_frame(self._to, request)
        except OSError as error:
            msg = "the process that renders has ended"
            raise StoppedError(msg) from error

    def receive(self, limits: Limits) -> RenderedText | Refusal:
        """Wait for the next answer, no longer than the limits allow."""
        with _Guard(self._process, limits) as guard:
            answer = self._read(8 * limits.characters + (1 << 20))
        if guard.stopped is not None:
            raise guard.stopped
        if answer is None:
            raise StoppedError(_last_words(self._process))
        if "refusal" in answer:
            kind, words = str(answer["refusal"]), str(answer["words"])
            if kind == "memory":
                words = _too_much_memory(limits)
            if kind == "size":
                words += f"; more than {limits.characters:,} are not shown"
            return Refusal(cast("RefusalKind", kind), words)
        pairs = tuple((int(a), int(b)) for a, b in answer["generation"])
        return RenderedText(answer["text"], pairs)

    def end(self) -> None:
        """Stop it, wait for it, and close its pipes."""
        self._process.kill()
        self._process.wait()
        for stream in (self._to, self._from):
            with contextlib.suppress(OSError):
                stream.close()

    def _read(self, longest: int) -> dict[str, Any] | None:
        try:
            return cast("dict[str, Any] | None", read_frame(self._from, longest))
        except (ValueError, OSError):
            return None


class _Guard:
    """Ends a process that takes more than its limits while somebody waits for it."""

    def __init__(self, process: "subprocess.Popen[bytes]", limits: Limits) -> None:
        self.stopped: StoppedError | None = None
        self._process = process
        self._limits = limits
        self._done = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name="ftlab-templates", daemon=True
        )

    def __enter__(self) -> "_Guard":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        begun = time.monotonic()
        if self._done.wait(min(LOOK, self._limits.seconds)):
            return
        try:
            seen = psutil.Process(self._process.pid)
            held, used = seen.memory_info().rss, _seconds_of(seen)
            while self.stopped is None and not self._done.wait(LOOK):
                passed = time.monotonic() - begun
                self._look(
                    passed, _seconds_of(seen) - used, seen.memory_info().rss - held
                )
        except psutil.Error:
            return  # it has ended by itself
        if self.stopped is not None:
            self._process.kill()

    def _look(self, passed: float, used: float, more: int) -> None:
        """Decide; where other programs have the processor, a rendering may wait."""
        limits = self._limits
        if more > 1.5 * (limits.megabytes << 20):
            self.stopped = StoppedError(_too_much_memory(limits), "memory")
        elif passed > limits.seconds and (
            used > limits.seconds / 2 or passed > OTHERS * limits.seconds
        ):
            words = f"ran longer than {limits.seconds:g} s and was stopped"
            self.stopped = StoppedError(words, "time")


def _seconds_of(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _too_much_memory(limits: Limits) -> str:
    return f"wanted more than {limits.megabytes:,} MB of memory"


def _last_words(process: "subprocess.Popen[bytes]") -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    code = process.returncode
    return f"the process that rendered it ended (exit {code})"
