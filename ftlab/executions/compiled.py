"""Compiled code against the same run eagerly.

No mode sees into compiled code, and none may be on while it runs: both are executed as
they are, and their distance is told in units of the eager one's to float64. Where they
differ, modules are compiled one by one and called with what they are given: the
innermost that differs alone is named.
"""

import contextlib
import os
import shutil
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from ftlab.executions.difference import ROUGH
from ftlab.executions.distance import apart, size
from ftlab.executions.floors import over_floor
from ftlab.executions.listening import Place, shared_name
from ftlab.executions.nested import changed
from ftlab.executions.pairs import copied, evaluating
from ftlab.executions.side import (
    NotApplicableError,
    Side,
    Start,
    loss_of,
    start_again,
    undisturbed,
    widened,
)
from ftlab.executions.tape import of_weight, weight_gradients
from ftlab.records.difference import Born, Differences, Row
from ftlab.records.handle import HandleStack
from ftlab.replay.torch_private import backward_within_modes, compiled_call

Phase = Literal["forward", "backward"]
Tensors = dict[Place, torch.Tensor]
Compile = Callable[[torch.nn.Module], Callable[..., Any]]
Autocast = Callable[[], AbstractContextManager[Any]]


class _Part(NamedTuple):
    """A module, and what it is called with."""

    name: str
    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def is_compiled(model: torch.nn.Module) -> bool:
    """Say whether calling a model runs compiled code, in all or in part."""
    return any(
        compiled_call(each)
        or hasattr(vars(each).get("forward"), "_torchdynamo_orig_callable")
        for each in model.modules()
    )


def compiled(
    model: Any,
    batch: Mapping[str, Any],
    autocast: Autocast = nullcontext,
    **settings: Any,
) -> Differences:
    """Compare a model with a copy that is compiled, or its compiled code without.

    Parameters
    ----------
    model, batch
        What is called, and its keyword arguments.
    autocast
        Entered around each call.
    settings
        Of `torch.compile`, for a copy; by default what this machine can do.

    Raises
    ------
    NotApplicableError
        The model draws random numbers that are no dropout.
    """
    notes: list[str] = []
    if is_compiled(model):
        compiling = getattr(model, "dynamo_ctx", None) or _compiling({})
        quick: Callable[..., Any] = model
    else:
        if not settings and not _has_toolchain(model):
            notes.append("compiled with aot_eager: there is no C++ compiler here")
            settings = {"backend": "aot_eager"}
        compiling, model = _compiling(settings), _undropped(copied(model)).train()
        quick = compiling(model)
    whole = _Part("", model, (), batch)
    with undisturbed(Side(model, batch, lambda: None)) as start:
        runs = _Runs(start, autocast)
        runs.settle(whole)
        rows = runs.rows(whole, quick)
        worst = _worst(rows)
        first = None if worst is None else runs.first(whole, compiling)
        if worst and first is None and (chooser := runs.chooser(whole)):
            notes.append(f"{chooser} may choose otherwise, by rounding alone")
            worst = None
    found = () if worst is None else (_born(*(first or (worst.module, worst))),)
    of_outputs = [row.carried for row in rows if row.kind == "out"]
    return Differences(
        ("eager", "compiled"),
        tuple(rows),
        found,
        outcome=max(of_outputs, default=float("nan")),
        equal=not found,
        notes=tuple(notes),
    )


class _Runs:
    """Executions of a model and of its modules, all from one start."""

    def __init__(self, start: Start, autocast: Autocast) -> None:
        self._start = start
        self._autocast = autocast
        self._mode: Callable[[], AbstractContextManager[Any]] = nullcontext

    def settle(self, whole: _Part) -> None:
        """Choose a mode in which another random state changes nothing."""
        for mode in (nullcontext, lambda: evaluating(whole.module)):
            self._mode = mode
            one, other = (
                self._executed(whole, whole.module, seed=seed) for seed in (0, 1)
            )
            if all(torch.equal(one[place], other[place]) for place in one):
                return
        msg = "the model draws random numbers that are no dropout"
        raise NotApplicableError(msg)

    def rows(self, part: _Part, quick: Callable[..., Any]) -> list[Row]:
        """Return what a part and its compiled code are apart."""
        eager = self._executed(part, part.module)
        wide = self._executed(part, part.module, wide=True)
        other = self._executed(part, quick, eager=False)
        many = any(p.kind == "out" and v.numel() > 1 for p, v in eager.items())
        return [
            _row(part, place, value, wide[place], other.get(place))
            for place, value in eager.items()
            if place in wide and value.is_floating_point()
            # a single number, such as the loss, may agree with float64 by chance
            if place.kind != "out" or value.numel() > 1 or not many
        ]

    def first(self, part: _Part, compiling: Compile) -> tuple[str, Row] | None:
        """Return the innermost module that differs alone, and its first difference."""
        for inner in self._inner(part):
            worst = _worst(self.rows(inner, compiling(inner.module)))
            if worst is not None:
                found = self.first(inner, compiling)
                return found or (shared_name(inner.name), worst)
        return None

    def chooser(self, whole: _Part) -> str:
        """Name a module that returns whole numbers, such as chosen experts."""
        found: list[str] = []

        def look(name: str, _given: Any, output: Any) -> None:
            tensors = _tensors(output, "out").values()
            if any(not t.is_floating_point() and t.numel() > 1 for t in tensors):
                found.append(name)

        self._heard(whole, look, list(whole.module.named_modules())[1:])
        return shared_name(found[0]) if found else ""

    def _inner(self, part: _Part) -> list[_Part]:
        """Return the modules directly below, in the order in which they are called."""
        found: dict[str, _Part] = {}
        modules = dict(_children(part.module, part.name))

        def note(name: str, given: Any, _output: Any) -> None:
            found.setdefault(name, _Part(name, modules[name], *_own(given, [])))

        self._heard(part, note, list(modules.items()))
        return list(found.values())

    def _heard(
        self,
        part: _Part,
        hear: Callable[[str, Any, Any], None],
        modules: list[tuple[str, torch.nn.Module]],
    ) -> None:
        """Execute a part; tell what modules were given and return."""
        handles = HandleStack()

        def attach() -> None:
            for name, module in modules:

                def hook(
                    _m: Any, args: Any, kwargs: Any, out: Any, n: str = name
                ) -> None:
                    hear(n, (args, kwargs), out)

                handles.add(module.register_forward_hook(hook, with_kwargs=True))

        try:
            self._executed(part, part.module, first=attach)
        finally:
            handles.remove()

    def _executed(
        self,
        part: _Part,
        call: Callable[..., Any],
        *,
        eager: bool = True,
        wide: bool = False,
        seed: int | None = None,
        first: Callable[[], None] | None = None,
    ) -> Tensors:
        """Run forward and backward; return outputs, and the gradients of weights."""
        self._start.restore_modules()
        start_again(Side(part.module, {}, lambda: None), self._start)
        if seed is not None:
            torch.manual_seed(seed)
        if first is not None:
            first()
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._mode())
            if eager:
                stack.enter_context(torch.compiler.set_stance("force_eager"))
            if wide:
                stack.enter_context(widened(part.module))
            leaves: list[tuple[str, torch.Tensor]] = []
            args, kwargs = _own((part.args, dict(part.kwargs)), leaves)
            stack.enter_context(torch.enable_grad())
            with self._autocast():
                output = call(*args, **kwargs)
            found = _tensors(output, "out")
            total = loss_of(output)
            if total is None:
                total = sum(map(_weighted, found.values()), torch.zeros(()))
            if total.requires_grad:
                backward_within_modes(total)
            found |= {
                Place("", 0, "in", n): t.grad for n, t in leaves if t.grad is not None
            }
            found |= {of_weight(n): g for n, g in weight_gradients(part.module)}
            return {place: value.detach().clone() for place, value in found.items()}


def _tensors(value: Any, kind: Any) -> Tensors:
    found: Tensors = {}

    def note(path: str, tensor: torch.Tensor) -> torch.Tensor:
        found[Place("", 0, kind, path.removeprefix("."))] = tensor
        return tensor

    changed(value, note)
    return found


def _own(given: Any, leaves: list[tuple[str, torch.Tensor]]) -> Any:
    """Return arguments of its own for a call: leaves for gradients, and no cache."""

    def own(path: str, tensor: torch.Tensor) -> torch.Tensor:
        copy = tensor.detach().clone()
        if not tensor.requires_grad:
            return copy
        leaves.append((path.removeprefix("."), copy.requires_grad_()))
        return copy.clone()  # which may be written to

    args, kwargs = changed(given, own)
    cached = {key for key, value in kwargs.items() if hasattr(value, "get_seq_length")}
    return args, {key: None if key in cached else kwargs[key] for key in kwargs}


def _weighted(tensor: torch.Tensor) -> torch.Tensor:
    """Return a sum with weights of its own for each value, where there are floats."""
    if not tensor.is_floating_point():
        return torch.zeros((), device=tensor.device)
    weights = torch.arange(tensor.numel(), device=tensor.device).cos()
    return (tensor.flatten() * weights.to(tensor.dtype)).sum()


def _row(
    part: _Part,
    place: Place,
    eager: torch.Tensor,
    wide: torch.Tensor,
    other: torch.Tensor | None,
) -> Row:
    """Measure a tensor; a gradient that is lost is infinitely far."""
    shape = (1, -1) if place.kind == "weight" else (-1, max(1, *eager.shape[-1:], 1))
    a, w = eager.reshape(shape), wide.reshape(shape)
    b = torch.full_like(a, torch.inf) if other is None else other.reshape(shape)
    distance = apart(a, b)
    share, ratio = distance / size(a).clamp(min=1e-30), over_floor(distance, a, w)
    name = ".".join(filter(None, (part.name, place.module)))
    phase: Phase = "forward" if place.kind == "out" else "backward"
    far = float(ratio.max())
    return Row(
        shared_name(name),
        0,
        place.kind,
        place.path,
        phase,
        far,
        far,
        float(share.max()),
    )


def _worst(rows: list[Row]) -> Row | None:
    """Return the first output that differs by more than rounding, or a gradient."""
    far = [row for row in rows if row.carried > ROUGH]
    outputs = [row for row in far if row.kind == "out"]
    return next(iter(outputs), max(far, key=lambda row: row.carried, default=None))


def _born(module: str, row: Row) -> Born:
    path = f" ({row.path})" if row.path else ""
    said = {
        "out": f"what it returns{path}",
        "in": f"the gradient of what it is given{path}",
        "weight": f"the gradient of its {row.path}",
    }[row.kind]
    nowhere = np.zeros((0, 2), np.int64)
    phase: Phase = "forward" if row.kind == "out" else "backward"
    return Born(module, phase, said, row.carried, row.relative, nowhere)


def _children(
    module: torch.nn.Module, prefix: str
) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield the modules directly below one that can be called."""
    for name, child in module.named_children():
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(child, torch.nn.ModuleList | torch.nn.ModuleDict):
            yield from _children(child, path)
        else:
            yield path, child


def _undropped(model: torch.nn.Module) -> torch.nn.Module:
    """Let a model's dropout drop nothing, for good."""
    for module in model.modules():
        of_torch = type(module).__module__ == "torch.nn.modules.dropout"
        for name, value in [*vars(module).items()]:
            if isinstance(value, float) and (
                "drop" in name or (of_torch and name == "p")
            ):
                setattr(module, name, 0.0)
    return model


def _compiling(settings: Mapping[str, Any]) -> Compile:
    """Return what compiles a module, beside what others have compiled of its class."""
    alone = "isolate_recompiles" in signature(torch.compile).parameters
    given: dict[str, Any] = {"isolate_recompiles": True} if alone else {}
    given |= settings

    def compiling(module: torch.nn.Module) -> Any:
        return torch.compile(module, **given)

    return compiling


def _has_toolchain(model: torch.nn.Module) -> bool:
    """Say whether this machine can compile for a model's device by default."""
    if any(p.device.type == "cuda" for p in model.parameters()):
        return find_spec("triton") is not None
    header = Path(sysconfig.get_path("include")) / "Python.h"
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    return bool(found) and header.is_file()
