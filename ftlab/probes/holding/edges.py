"""What an object keeps alive: what Python's collector knows, and what torch adds.

The collector sees containers, closures, frames of exceptions and generators. It does
not see what an autograd graph has saved, a tensor's gradient, the base of a view, what
stands in an array of objects, or the variables of a function that is running.
"""

import gc
import re
import sys
import types
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import torch

from ftlab.probes.torch_private import saved_by

ATOMS = frozenset(
    {
        bool,
        bytes,
        complex,
        float,
        int,
        str,
        type(None),
        types.BuiltinFunctionType,
        types.CodeType,
        types.EllipsisType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        types.MethodDescriptorType,
        types.NotImplementedType,
        types.WrapperDescriptorType,
        torch.device,
        torch.dtype,
        torch.Size,
    }
)
"""Types whose objects keep nothing alive that could be large."""

NUMBERS = frozenset({bool, complex, float, int, type(None)})
"""Types of which containers hold millions: tokens, labels, positions."""


Kind = Literal[
    "atom",
    "text",
    "function",
    "frame",
    "type",
    "module",
    "running",
    "tensor",
    "array",
    "node",
    "object",
]


class Running:
    """The variables of a function that is running in some thread.

    Attributes
    ----------
    frame
        Its frame.
    values
        Its variables by name, at this moment.
    """

    __slots__ = ("frame", "values")

    def __init__(self, frame: types.FrameType) -> None:
        self.frame = frame
        self.values = variables(frame)


def referents(owner: Any) -> list[Any]:
    """Return what ``owner`` keeps alive, one step away."""
    kind = kind_of(type(owner))
    if kind == "running":
        return list(owner.values.values())
    if kind == "module":
        return list(vars(owner).values())
    found = gc.get_referents(owner)
    if kind == "tensor":
        found += _of_tensor(owner)
    elif kind == "array":
        found += [] if owner.base is None else [owner.base]
        found += list(owner.flat) if owner.dtype.hasobject else []
    elif kind == "node":
        found += [node for node, _ in owner.next_functions if node is not None]
        found += saved_by(owner)
    return found


_BASES: tuple[tuple[type, Kind], ...] = (
    (torch.Tensor, "tensor"),
    (np.ndarray, "array"),
    (types.ModuleType, "module"),
    (type, "type"),
    (types.FunctionType, "function"),
    (types.FrameType, "frame"),
)


def kind_of(of: type) -> Kind:
    """Tell what an object is by its type; no object is asked: it may answer."""
    kind = _known.get(of)
    if kind is None:
        kind = _known[of] = _find_kind(of)
    return kind


def forget_types() -> None:
    """Let go of the types that were met: users make some that would stay alive."""
    _known.clear()


_known: dict[type, Kind] = {}


def _find_kind(of: type) -> Kind:
    if of in ATOMS:
        return "text" if of in (str, bytes) else "atom"
    if of is Running:
        return "running"
    if re.match(r"ftlab\.(?!faults)", str(of.__module__)):
        return "atom"  # what ftlab keeps is its own, and it keeps little
    for base, kind in _BASES:
        if issubclass(of, base):
            return kind
    # nodes of C++ are of types that derive from nothing
    node = hasattr(of, "next_functions") and hasattr(of, "metadata")
    return "node" if node else "object"


def variables(frame: types.FrameType) -> dict[str, Any]:
    """Read the variables of a frame, and leave nothing behind in it.

    Before Python 3.13 reading them leaves a dictionary in the frame, which keeps them
    alive for as long as the function runs. It is emptied, unless somebody else holds it
    too: ``locals()`` has returned the same one.
    """
    left = frame.f_locals
    values = dict(left)
    own = sys.getrefcount(left) <= _OWN_REFERENCES
    if sys.version_info < (3, 13) and frame.f_code.co_flags & 1 and own:
        left.clear()
    return values


_OWN_REFERENCES = 3
"""To a frame's dictionary: the frame's, our variable's and that of the call."""


def running_frames() -> Iterator[types.FrameType]:
    """Yield the frames of this thread, the innermost first, with the caller's own.

    Those of other threads change while they are read: their variables are left out.
    """
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001  inspect's is slow
    while frame is not None:
        yield frame
        frame = frame.f_back


def _of_tensor(owner: torch.Tensor) -> list[Any]:
    # the collector sees the node of some tensors only
    linked = owner.grad if owner.is_leaf else owner.grad_fn
    base = owner._base  # noqa: SLF001  torch documents it for views
    return [each for each in (linked, base) if each is not None]
