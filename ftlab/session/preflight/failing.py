"""What a dry step raised: in which part of it, in which module, between which dtypes.

All of it is read from the traceback once the step has failed: nothing is hooked.
"""

import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from ftlab.probes.naming import clean_name
from ftlab.probes.plain import dtype_name

INSTALLED = "site-packages"
"""Folder of libraries: a line within is not the user's own."""

_FTLAB = Path(__file__).parents[2]
FOREIGN = (
    sysconfig.get_paths()["stdlib"],
    str(_FTLAB / "session"),
    str(_FTLAB / "probes"),
)
"""Folders whose lines are not the user's own either."""


class NoLossError(Exception):
    """The model's output holds no loss; the message says what does instead."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a dry step raised.

    Attributes
    ----------
    phase
        ``"forward"``, ``"backward"``, ``"optimizer step"``, ``"preparation"``, or
        ``"step"`` for what the loop's body does outside of these.
    module
        Clean path of the innermost module whose forward raised, ``""`` for none.
    got, weights
        Floating dtypes of what that module was given, and of its own parameters.
    line
        The last line of the user's own code, as ``"train.py:12"``.
    """

    error: Exception
    phase: str
    module: str = ""
    got: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    line: str = ""

    @property
    def message(self) -> str:
        """The first line of what was raised, with its type."""
        lines = str(self.error).strip().splitlines() or ["no message"]
        return f"{type(self.error).__name__}: {lines[0]}"

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Floating dtypes that met where it failed."""
        return tuple(dict.fromkeys((*self.got, *self.weights)))


def failure_of(error: Exception, model: torch.nn.Module) -> Failure:
    """Read from a traceback where a step failed.

    Examples
    --------
    >>> import torch
    >>> from ftlab.session.preflight.failing import failure_of
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 1).bfloat16())
    >>> try:
    ...     model(torch.ones(1, 2))
    ... except RuntimeError as error:
    ...     failure = failure_of(error, model)
    >>> failure.phase, failure.module, failure.got, failure.weights
    ('forward', '0', ('float32',), ('bfloat16',))
    """
    names = {id(module): path for path, module in model.named_modules()}
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    inside = [frame for frame in frames if id(frame.f_locals.get("self")) in names]
    phase = _phase(error, bool(inside))
    if phase != "forward" or not inside:
        return Failure(error, phase, line=_own_line(error))
    module: torch.nn.Module = inside[-1].f_locals["self"]
    return Failure(
        error,
        phase,
        clean_name(names[id(module)]),
        tuple(dict.fromkeys(_given(inside[-1], module))),
        tuple(dict.fromkeys(_dtypes(module.parameters(recurse=False)))),
        _own_line(error),
    )


def _phase(error: Exception, inside: bool) -> str:
    """Tell which part of a step raised; backward may run modules again."""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.name == "backward":
            return "backward"
        if frame.name in ("step", "unscale_") and "optim" in frame.filename:
            return "optimizer step"
    return "forward" if inside or isinstance(error, NoLossError) else "step"


def _given(frame: FrameType, module: torch.nn.Module) -> Iterator[str]:
    """Yield the dtypes of the tensors at hand in a module's frame, not its own."""
    own = {id(each) for each in module.parameters()}
    held = [value for value in frame.f_locals.values() if id(value) not in own]
    yield from _dtypes(held)


def _dtypes(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            yield dtype_name(value.dtype)
        elif isinstance(value, tuple | list):
            yield from _dtypes(value)


def _own_line(error: Exception) -> str:
    """Name the innermost line that is neither a library's nor ftlab's."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if not each.filename.startswith(FOREIGN)]
    own = [each for each in own if INSTALLED not in each.filename]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
