"""Checkpoints that lie in one another around the very same modules.

Who calls whom: `ftlab.probes.graph.recomputed` tells `NestedCheckpoints` of each call
of a module, forward and again. Where modules ran again twice as often as in forward,
the next step that is looked at asks which checkpoints are among the callers of each
module. A checkpoint of a whole stage, with others around single blocks in it, runs
these again twice as well, on purpose: it holds more than any one of them.
"""

import sys
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint
from numpy.typing import NDArray

from ftlab.probes.inventory import hookable_modules
from ftlab.probes.probe import Moment, Reading
from ftlab.records.step import Block

TABLE = "nested_checkpoints"

FRAMES = 512
"""Python frames that are searched for checkpoints, from a module's call outwards."""

_FILE = torch.utils.checkpoint.__file__

_WRAPPED = "_checkpoint_wrapped_module"
"""What torch's CheckpointWrapper calls the module in it."""


@dataclass(slots=True)
class _Scope:
    """What one checkpoint runs.

    Attributes
    ----------
    function
        What it was told to run; held, so that its ``id`` stays its own.
    owner
        Class of the module that called for the checkpoint.
    paths
        The modules that were called in it.
    around
        The checkpoint nearest around it.
    """

    function: Any
    owner: str
    paths: set[str] = field(default_factory=set)
    around: int | None = None


class NestedCheckpoints:
    """Counts calls of a step, and keeps which checkpoints they were in."""

    def __init__(self) -> None:
        self._looking = False
        self._first: Counter[str] = Counter()
        self._again: Counter[str] = Counter()
        self._scopes: dict[int, _Scope] = {}

    def begin(self) -> None:
        """Begin a step; look closer where something ran again twice in the last."""
        self._looking = self._looking or any(map(self._is_twice, self._again))
        self._first, self._again, self._scopes = Counter(), Counter(), {}

    def see(self, path: str, *, again: bool) -> None:
        """Hear that a module has run; ``again``: within backward."""
        (self._again if again else self._first)[path] += 1
        if self._looking and not again:
            self._place(path)

    def readings(self, moment: Moment) -> Iterator[Reading]:
        """Name the modules whose checkpoint lies in another one around the same."""
        if not self._scopes:
            return
        rows: dict[int, float] = {}
        for path, (outer, inner) in self._doubled(moment.subject.model).items():
            meta = {"outer": outer.owner, "inner": inner.owner}
            row = moment.name(TABLE, path or "model", "module", meta)
            rows[row] = 1.0 + min(map(self._times, inner.paths))
        self._scopes = {}
        if not rows:
            return
        ids, step = np.array(sorted(rows), np.int32), moment.step
        runs = np.array([rows[row] for row in ids.tolist()], np.float32)

        def finish(_: NDArray[np.float32]) -> Iterable[Block]:
            yield Block(TABLE, step, ids, {"runs": runs})

        yield Reading(torch.zeros(1), finish)

    def _times(self, path: str) -> float:
        """Return how often a module ran again for each of its calls in forward."""
        return self._again[path] / max(self._first[path], 1)

    def _is_twice(self, path: str) -> bool:
        return self._times(path) >= 2

    def _place(self, path: str) -> None:
        """Put a call into the checkpoints that are among its callers."""
        inner = None
        for frame in _checkpoints():
            function = frame.f_locals.get("function")
            key = id(function)
            if key not in self._scopes:
                self._scopes[key] = _Scope(function, _owner(frame))
            self._scopes[key].paths.add(path)
            if inner is not None:
                inner.around = key
            inner = self._scopes[key]

    def _doubled(self, model: torch.nn.Module) -> dict[str, tuple[_Scope, _Scope]]:
        modules = dict(hookable_modules(model))
        found: dict[str, tuple[_Scope, _Scope]] = {}
        for inner in self._scopes.values():
            if inner.around is None or not all(map(self._is_twice, inner.paths)):
                continue
            outer = self._scopes[inner.around]
            if _hold_the_same(outer, inner, modules):
                path = _common(outer.paths).removesuffix(f".{_WRAPPED}")
                found[path] = outer, inner
        return found


def _hold_the_same(
    outer: _Scope, inner: _Scope, modules: Mapping[str, torch.nn.Module]
) -> bool:
    """Tell whether the outer one holds nothing of its own but what is around both."""
    return all(
        next(modules[path].parameters(recurse=False), None) is None
        and all(_is_within(each, path) for each in inner.paths)
        for path in outer.paths - inner.paths
        if path in modules
    )


def _is_within(path: str, other: str) -> bool:
    return not other or path.startswith(f"{other}.")


def _common(paths: Iterable[str]) -> str:
    """Return the innermost module that all of ``paths`` are, or are in."""
    split = [path.split(".") for path in paths]
    common = []
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return ".".join(common)


def _checkpoints() -> Iterator[types.FrameType]:
    """Yield the calls of torch's checkpoint among the callers, innermost first."""
    frame: types.FrameType | None = sys._getframe(2)  # noqa: SLF001  documented
    for _ in range(FRAMES):
        if frame is None:
            return
        code = frame.f_code
        if code.co_name == "checkpoint" and code.co_filename == _FILE:
            yield frame
        frame = frame.f_back


def _owner(frame: types.FrameType) -> str:
    """Name the class of the nearest module that called."""
    caller = frame.f_back
    while caller is not None:
        owner = caller.f_locals.get("self")
        if isinstance(owner, torch.nn.Module):
            return type(owner).__name__
        caller = caller.f_back
    return ""
