"""Where a user's probe can be put, and what its words mean.

A point is a moment of the step (``"batch"``, ``"gradients"``, ``"update.pre"``,
``"update.post"``), or a pattern of paths and an end: ``.pre`` for the inputs of
modules, ``.post`` for their outputs, ``.grad`` for the gradients of their outputs or of
parameters.
"""

import re
import weakref
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch

from ftlab.probes.naming import clean_name, named_trainables
from ftlab.records.attributes import attribute_of
from ftlab.records.errors import UnknownNameError
from ftlab.records.near import near
from ftlab.records.path_pattern import is_module

MOMENTS = ("batch", "gradients", "update.pre", "update.post")
ENDS = ("pre", "post", "grad")


class Point(NamedTuple):
    """A point in words, read.

    Attributes
    ----------
    text
        As the user wrote it.
    kind
        One of `MOMENTS` or `ENDS`.
    pattern
        Of module or parameter paths; ``""`` for a moment of the step.
    """

    text: str
    kind: str
    pattern: str = ""


class Spot(NamedTuple):
    """A module that a hook may be put on.

    Attributes
    ----------
    encoder
        The `torch.nn.TransformerEncoderLayer` that it is in. In eval mode, with a hook
        anywhere in it, such a layer computes in another way.
    compiled
        It is compiled, or in something that is: a hook would not be called there.
    """

    path: str
    module: weakref.ref[torch.nn.Module]
    encoder: weakref.ref[torch.nn.Module] | None
    compiled: bool

    def hookable(self) -> torch.nn.Module | None:
        """Return the module if a hook on it changes nothing now."""
        encoder = None if self.encoder is None else self.encoder()
        changed = encoder is not None and not encoder.training
        return None if changed or self.compiled else self.module()


def parse(text: str) -> Point:
    """Read a point.

    Raises
    ------
    UnknownNameError
        It has no end that is known.

    Examples
    --------
    >>> from ftlab.probes.user.points import parse
    >>> parse("layers.*.self_attn.post")
    Point(text='layers.*.self_attn.post', kind='post', pattern='layers.*.self_attn')
    >>> parse("update.pre")
    Point(text='update.pre', kind='update.pre', pattern='')
    """
    if text in MOMENTS:
        return Point(text, text)
    pattern, _, end = text.rpartition(".")
    if pattern and end in ENDS:
        return Point(text, end, pattern)
    msg = (
        f"{text!r} is no point to probe. A point is a pattern of module paths with "
        "'.pre' (inputs), '.post' (outputs) or '.grad' (gradient of the output) behind "
        "it, a pattern of parameter names with '.grad', or one of "
        f"{', '.join(map(repr, MOMENTS))}; for example 'layers.*.self_attn.post'."
    )
    raise UnknownNameError(msg)


def modules_at(point: Point, model: torch.nn.Module) -> list[Spot]:
    """List the modules that ``point`` means; one with several wrappers once."""
    if point.kind not in ENDS:
        return []
    return [
        spot for spot in _spots(model).values() if is_module(spot.path, point.pattern)
    ]


def parameters_at(point: Point, names: Iterable[str]) -> list[str]:
    """List the parameters among ``names`` whose gradients ``point`` means."""
    if point.kind != "grad":
        return []
    return [name for name in names if is_module(name, point.pattern)]


def count_places(point: Point, model: torch.nn.Module) -> tuple[int, bool]:
    """Count what a point means in a model, and say whether it is parameters.

    Modules come first: only a pattern that no module matches means parameters. A moment
    of the step is one place.
    """
    if point.kind in MOMENTS:
        return 1, False
    modules = len(modules_at(point, model))
    if modules:
        return modules, False
    names = [entry.name for entry in named_trainables(model)]
    return len(parameters_at(point, names)), True


def nothing_there(point: Point, model: torch.nn.Module) -> UnknownNameError:
    """Make the error for a point that means nothing in ``model``."""
    paths = list(_spots(model))
    if point.kind == "grad":
        paths += [entry.name for entry in named_trainables(model)]
    known = {f"{_end_of(path)}.{point.kind}" for path in paths}
    kinds = "module or trainable parameter" if point.kind == "grad" else "module"
    msg = (
        f"Point {point.text!r}: no {kinds} of {type(model).__name__} is called "
        f"{point.pattern!r}; {near(point.text, known)}."
    )
    return UnknownNameError(msg)


def hookable_modules(model: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    """List all modules on which a hook changes nothing, the model first, as ``""``."""
    found: dict[str, torch.nn.Module] = {}
    for spot in _walk(model, "", None, compiled=False):
        module = spot.hookable()
        if module is not None:
            found[spot.path] = module
    return list(found.items())


def _end_of(path: str) -> str:
    """Write a path as a pattern: from its block on, any block."""
    blocks = re.search(r"[^.]+\.\d+(?=\.|$)", path)
    return path if blocks is None else re.sub(r"\d+", "*", path[blocks.start() :])


def _spots(model: torch.nn.Module) -> dict[str, Spot]:
    """Find the modules that take hooks, by clean path; wrappers count as one."""
    spots: dict[str, Spot] = {}
    for spot in _walk(model, "", None, compiled=False):
        if spot.path:
            spots.setdefault(spot.path, spot)
    return spots


def _walk(
    module: torch.nn.Module,
    path: str,
    encoder: weakref.ref[torch.nn.Module] | None,
    *,
    compiled: bool,
) -> Iterator[Spot]:
    if isinstance(module, torch.jit.ScriptModule):  # takes no hooks
        return
    compiled = compiled or _is_compiled(module)
    if isinstance(module, torch.nn.TransformerEncoderLayer):
        encoder = weakref.ref(module)
    yield Spot(clean_name(path), weakref.ref(module), encoder, compiled)
    for name, child in module.named_children():
        below = f"{path}.{name}" if path else name
        yield from _walk(child, below, encoder, compiled=compiled)


def _is_compiled(module: torch.nn.Module) -> bool:
    in_place = attribute_of(module, "_compiled_call_impl") is not None
    forward = vars(module).get("forward")  # model.forward = torch.compile(...)
    inside = in_place or hasattr(forward, "_torchdynamo_orig_callable")
    return inside or type(module).__name__ == "OptimizedModule"
