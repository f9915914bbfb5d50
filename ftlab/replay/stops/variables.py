"""The variables of the code that waits at a stop, by name.

Nothing here holds a frame longer than the stop lasts: a frame keeps everything alive
that its function has computed.
"""

import inspect
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from types import FrameType, FunctionType, ModuleType
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from ftlab.records.errors import NotPausedError, UnknownNameError
from ftlab.records.near import near
from ftlab.records.printable import printable
from ftlab.replay.stops.describe import facts_of

WIDTH = 100
"""Characters of a value that are shown at most."""
ITEMS = 3
"""Tensors of a container that are shown at most."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice, PurePath)
_PLAIN_OF_TORCH = (torch.dtype, torch.device, torch.Size)
_NO_VARIABLES = (ModuleType, FunctionType, type)
_SHARES = frozenset({"locals", "vars", "eval", "exec"})

Read = Callable[[], Mapping[str, Any] | None]
"""Returns live values by name; ``None`` when the run has gone on."""


class Variables(Mapping[str, Any]):
    """Values by name, each read when it is asked for; tensors are copies.

    What is no tensor, and holds none that can be told, is the live object itself.

    Parameters
    ----------
    read
        Where they come from.
    words
        What they are, for messages.
    around
        What code finds there besides, by name.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.stops.variables import Variables
    >>> Variables(lambda: {"rate": 0.1, "loss": torch.tensor([1.0, float("nan")])})
    rate = 0.1
    loss = float32[2], 1 to 1, 1 NaN
    """

    def __init__(
        self, read: Read = dict, words: str = "values", around: Read = dict
    ) -> None:
        self._read: Read | None = read
        self._words = words
        self._around: Read = around

    def release(self) -> None:
        """Forget where the values come from."""
        self._read, self._around = None, dict

    def scope(self, names: Iterable[str]) -> dict[str, Any]:
        """Return what code finds there under ``names``: its own values, and others."""
        around = self._around() or {}
        found = {n: _copied(around[n]) for n in names if n in around}
        return found | {n: self[n] for n in names if n in self}

    def __getitem__(self, name: str) -> Any:
        live = self._live()
        if name not in live:
            msg = f"There is no {name!r} among the {self._words}; {near(name, live)}."
            raise UnknownNameError(msg)
        return _copied(live[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._live())

    def __len__(self) -> int:
        return len(self._live())

    def __contains__(self, name: object) -> bool:
        return name in self._live()

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or ``default`` where there is none of that name."""
        try:
            return self[name]
        except UnknownNameError:
            return default

    def __repr__(self) -> str:
        live = None if self._read is None else self._read()
        if live is None:
            return "(the run has continued)"
        rows = [f"{printable(name)} = {one_line(live[name])}" for name in live]
        return "\n".join(rows) or "(nothing to show)"

    def _live(self) -> Mapping[str, Any]:
        live = None if self._read is None else self._read()
        if live is None:
            msg = (
                f"These {self._words} belong to a stop that the run has left; get them "
                "from the debugger again at the next one."
            )
            raise NotPausedError(msg)
        return live


def variables_of(frame: FrameType) -> Variables:
    """Return the local variables of a function that waits; copied when asked for.

    Of code at the top of a script or a cell they are the global names that it uses,
    without modules, functions and classes.
    """
    kept: list[Mapping[str, Any]] = []

    def read() -> Mapping[str, Any]:
        if not kept:
            kept.append(_read(frame))
        return kept[0]

    words = f"variables of {frame.f_code.co_name}"
    return Variables(read, words, around=lambda: frame.f_globals)


def _read(frame: FrameType) -> dict[str, Any]:
    code = frame.f_code
    values = {}
    if code.co_flags & inspect.CO_OPTIMIZED:
        live = frame.f_locals
        values = dict(live)
        # Until Python 3.12 the frame keeps this dictionary, and so what its function
        # has dropped. Where the function asks for it itself it is the function's.
        if sys.version_info < (3, 13) and _SHARES.isdisjoint(code.co_names):
            live.clear()
    if code.co_name == "<module>":
        used = {n: frame.f_globals[n] for n in code.co_names if n in frame.f_globals}
        values |= {n: v for n, v in used.items() if not isinstance(v, _NO_VARIABLES)}
    return {n: v for n, v in values.items() if not n.startswith(("__ftlab", "."))}


def one_line(value: Any) -> str:
    """Write a value in one line: tensors as reports do, objects by their class.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.stops.variables import one_line
    >>> one_line({"ids": torch.tensor([[3, 4]])}), one_line(torch.nn.Linear(1, 1))
    ('dict of 1: ids int64[1, 2], 3 to 4', 'Linear(...)')
    """
    if isinstance(value, torch.Tensor):
        text = repr(facts_of("", value))
    elif isinstance(value, _PLAIN):
        text = reprlib.repr(value)
    elif isinstance(value, _PLAIN_OF_TORCH):
        text = repr(value)
    elif isinstance(value, Mapping):
        text = _items(value, [(str(key), value[key]) for key in [*value][:ITEMS]])
    elif isinstance(value, list | tuple):
        text = _items(value, [("", each) for each in value[:ITEMS]])
    else:
        text = f"{type(value).__name__}(...)"
    text = printable(text)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


def _items(value: Any, first: list[tuple[str, Any]]) -> str:
    parts = []
    for name, each in first:
        deep = isinstance(each, Mapping | list | tuple)
        shown = f"{type(each).__name__} of {len(each)}" if deep else one_line(each)
        parts.append(f"{name} {shown}".strip())
    parts += ["..."] if len(value) > ITEMS else []
    kind = f"{type(value).__name__} of {len(value)}"
    return f"{kind}: {'; '.join(parts)}" if parts else kind


def _copied(value: Any) -> Any:
    return tree_map_only(torch.Tensor, _copy, value)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()
