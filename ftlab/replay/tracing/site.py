"""Where an operation of a step happened: op, module, phase and source lines."""

import functools
import os
import re
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Literal

import torch
import torch.utils.checkpoint

Phase = Literal["forward", "recompute", "backward", "optimizer"]


class Line(str):
    """A source line as reports name it, which knows its file.

    Attributes
    ----------
    file, number
        Where its text can be read; ``""`` and 0 where that is not known.
    """

    __slots__ = ("file", "number")

    file: str
    number: int

    def __new__(cls, text: str = "", file: str = "", number: int = 0) -> "Line":
        """Make a line that is written ``text``."""
        made = super().__new__(cls, text)
        made.file, made.number = file, number
        return made


@dataclass(frozen=True, slots=True)
class Site:
    """One operation of the step.

    Attributes
    ----------
    index
        Position in the step's order of operations, from 0.
    op
        Full name, ``"aten.log.default"``.
    phase
        ``recompute`` is the second forward of a checkpointed block.
    module
        Path of the innermost module, ``""`` for the model itself, ``None`` outside of
        all modules.
    module_class
        Its class.
    user_line
        Innermost line outside installed packages; ``""`` when there is none.
    library_line
        Innermost line outside torch.
    node
        Autograd node in backward, ``"LogBackward0"``.
    forward
        The forward op that made the node.
    call
        Number of the torch function's call that issued it; -1 outside of forward.
    """

    index: int
    op: str
    phase: Phase
    module: str | None
    module_class: str
    user_line: str
    library_line: str
    node: str = ""
    forward: "Site | None" = None
    call: int = -1


def _folder(path: str) -> str:
    return str(Path(path)) + "/"


_TORCH = _folder(torch.__path__[0])
_OPTIM = _folder(torch.optim.__path__[0])
_CHECKPOINT = torch.utils.checkpoint.__file__
_GRAPH = torch.autograd.graph.__file__
_PACKAGE = Path(__file__).parents[2]
_UNSEEN = ("replay", "executions", "laboratory", "probes", "session", "notebook")
_OURS = tuple(_folder(str(_PACKAGE / part)) for part in _UNSEEN)
_PACKAGES = (_folder(sysconfig.get_path("purelib")), _folder(str(Path(_TORCH).parent)))
_STANDARD = _folder(sysconfig.get_path("stdlib"))
INSTALLED = (*_PACKAGES, _STANDARD)
"""Folders whose files are not the user's own."""
_CELL = re.compile(r".*/ipykernel_\d+/\d+\.py$")


def source_lines(
    *, optimizer: bool = False, since: FrameType | None = None
) -> tuple[str, str]:
    """Return the user's line and the library's line that are running in this thread.

    torch's own lines tell nothing, except those of an ``optimizer`` that steps. The
    search begins with the frame ``since``, if it is given.
    """
    here = sys._getframe(1)  # noqa: SLF001  the inspect module is ten times slower
    frame: FrameType | None = since or here
    library = ""
    while frame is not None:
        file = frame.f_code.co_filename
        shows = optimizer and file.startswith(_OPTIM)
        if shows or not file.startswith((_TORCH, "<frozen", *_OURS)):
            line = (file, frame.f_lineno, frame.f_code.co_name)
            library = library or shown(*line)
            if not file.startswith(INSTALLED):
                return shown(*line), library
        frame = frame.f_back
    return "", library


def is_unseen(file: str) -> bool:
    """Say whether the calls of a file tell nothing: torch's, Python's and our own."""
    standard = file.startswith(_STANDARD) and not file.startswith(_PACKAGES)
    return standard or file.startswith((_TORCH, "<frozen", *_OURS))


def is_optimizer(file: str) -> bool:
    """Say whether a file is of torch's optimizers."""
    return file.startswith(_OPTIM)


def within_checkpoint() -> bool:
    """Say whether the running code is a checkpoint's second forward."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  see above
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _CHECKPOINT:
            return True
        if code.co_filename == _GRAPH:  # a backward within a checkpoint's own
            return False
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=4096)
def _without_root(file: str, here: str) -> str:
    """Leave out the folder of packages, or the present one, that a file is in."""
    for folder in (*_PACKAGES, _folder(here)):
        file = file.removeprefix(folder)
    return file


def shown(file: str, line: int, function: str) -> Line:
    """Write a source line shortly: a notebook cell, or a file without its root."""
    if _CELL.match(file):
        return Line(f"<cell>:{line} {function}", file, line)
    short = _without_root(file, os.getcwd())  # noqa: PTH109  ten times faster
    return Line(f"{short}:{line} {function}", file, line)
