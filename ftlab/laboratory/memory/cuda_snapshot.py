"""Snapshots of CUDA's allocator: their files, which anybody may have made, are data."""

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ftlab.records.errors import BadValueError
from ftlab.records.memory import DeviceMemory
from ftlab.records.printable import printable
from ftlab.replay.tracing.site import INSTALLED, shown

_GROWN = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
_ELSEWHERE = re.compile(  # libraries on any machine, and generated code
    r"^<(frozen|eval_with_key)|[/\\](site|dist)-packages[/\\]|/lib/python3[.\d]*/"
    r"|torchinductor_|\.(c|cc|cpp|cxx|cu|h|hpp|pyx)$|\.so[.\d]*$|^\?*$"
)


class _Plain(pickle._Unpickler):  # noqa: SLF001  in C, 5 bytes can ask for 64 GiB
    def find_class(self, module: str, name: str) -> NoReturn:
        msg = f"it asks for {module}.{name}; numbers, texts and containers are allowed"
        raise pickle.UnpicklingError(msg)


def opened(path: Path) -> list[DeviceMemory]:
    """Read a snapshot from a file, or raise a BadValueError that says what is wrong."""
    try:
        with path.open("rb") as file:
            raw = _Plain(file).load()
        traces, segments = enumerate(raw["device_traces"]), raw["segments"]
        pairs = [(t, [s for s in segments if s["device"] == at]) for at, t in traces]
        return [_device(at, *pair) for at, pair in enumerate(pairs) if any(pair)]
    except Exception as error:  # a damaged pickle may raise any
        said = printable(f"{type(error).__name__}: {error}"[:200])
        msg = f"{str(path)!r} is no snapshot of CUDA memory, or damaged ({said}); "
        msg += "pass a file that was written by: with ftlab.memory_snapshot(file)."
        raise BadValueError(msg) from error


def _device(number: int, trace: list[Any], segments: list[Any]) -> DeviceMemory:
    blocks = [block for each in segments for block in each["blocks"]]
    free = [float(each["size"]) for each in blocks if each["state"] == "inactive"]
    change, grown = np.zeros((2, len(trace) + 2))
    lines, failed = dict[str, list[float]](), list[tuple[int, float, float]]()
    for at, each in enumerate(trace, 1):
        grown[at] = _GROWN.get(each["action"], 0) * float(each["size"])
        if each["action"] == "oom":
            failed.append((at, float(each["size"]), float(each["device_free"])))
    lives = list(_lives(trace, blocks))
    for born, died, size, _ in lives:
        change[born] += size
        change[died] -= size
    allocated, reserved = change.cumsum()[:-1], grown.cumsum()[:-1]
    reserved += sum(float(each["total_size"]) for each in segments) - reserved[-1]
    int((allocated + reserved).sum())  # an error where a size is NaN or infinite
    peak = allocated.argmax()
    for born, died, size, made in lives:
        if born <= peak < died:
            lines.setdefault(_line(made, born), []).append(size)
    held = [(line, sum(sizes), len(sizes)) for line, sizes in lines.items()]
    held.sort(key=lambda each: -each[1])
    return DeviceMemory(number, allocated, reserved.clip(0), held, failed, free)


def _lives(trace: list[Any], blocks: list[Any]) -> Iterator[tuple[int, int, Any, Any]]:
    """Yield first and last event of each, its size and maker; 0: before the trace."""
    live: dict[Any, tuple[int, float, Any]] = {}
    for at, event in enumerate(trace, 1):
        new = at, float(event["size"]), event
        if event["action"] == "free_completed":
            born, *then = live.pop(event["addr"], (0, new[1], {}))
            yield born, at, *then
        elif event["action"] == "alloc":
            live[event["addr"]] = new
    for each in [e for e in blocks if e["state"] != "inactive"]:
        live.setdefault(each["address"], (0, float(each["requested_size"]), each))
    for born, *then in live.values():
        yield born, len(trace) + 1, *then


def _line(made: Any, born: int) -> str:
    """Return the innermost line of user code that an allocation was made in."""
    for each in made.get("frames", ()):
        file = each["filename"]
        if not file.startswith(INSTALLED) and not _ELSEWHERE.search(file):
            return str(shown(file, int(each["line"]), each["name"][:100]))[-200:]
    return "no user code, as in backward" if born else "there before the recording"
