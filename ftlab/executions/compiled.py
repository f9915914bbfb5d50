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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
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
from ftlab.executions.pairs import copied, evaluating, undropped
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
    """A module, what it is called with, and whether it returns whole numbers."""

    name: str
    module: torch.nn.Module
    given: tuple[tuple[Any, ...], Mapping[str, Any]]
    chooses: bool = False


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
        compiling, model = _compiling(settings), undropped(copied(model)).train()
        quick = compiling(model)
    whole = _Part("", model, ((), batch))
    with undisturbed(Side(model, batch, lambda: None)) as start:
        runs = _Runs(start, autocast)
        runs.settle(whole)
        rows = runs.rows(whole, quick)
        worst = _worst(rows)
        first = None if worst is None else runs.first(whole, compiling)
        if worst and first is None and runs.chooses(whole):
            notes.append("a module may choose otherwise, by rounding alone")
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
        for inner in self._called(part, _children(part.module, part.name)):
            worst = _worst(self.rows(inner, compiling(inner.module)))
            if worst is not None:
                found = self.first(inner, compiling)
                return found or (shared_name(inner.name), worst)
        return None

    def chooses(self, whole: _Part) -> bool:
        """Say whether a module returns whole numbers, such as chosen experts."""
        inner = list(whole.module.named_modules())[1:]
        return any(part.chooses for part in self._called(whole, inner))

    def _called(
        self, part: _Part, modules: Iterable[tuple[str, torch.nn.Module]]
    ) -> list[_Part]:
        """Return the modules that a part calls, in order, with what they are given."""
        found: dict[str, _Part] = {}
        handles = HandleStack()

        def attach() -> None:
            for name, module in modules:

                def hook(
                    m: Any, args: Any, kwargs: Any, out: Any, n: str = name
                ) -> None:
                    chooses = any(
                        not t.is_floating_point() and t.numel() > 1
                        for t in _tensors(out).values()
                    )
                    found.setdefault(n, _Part(n, m, _own((args, kwargs)), chooses))

                handles.add(module.register_forward_hook(hook, with_kwargs=True))

        try:
            self._executed(part, part.module, first=attach)
        finally:
            handles.remove()
        return list(found.values())

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
            args, kwargs = _own(part.given)
            stack.enter_context(torch.enable_grad())
            with self._autocast():
                output = call(*args, **kwargs)
            found = _tensors(output)
            total = loss_of(output)
            if total is None:
                total = sum(map(_weighted, found.values()), torch.zeros(()))
            if total.requires_grad:
                backward_within_modes(total)
            found |= {of_weight(n): g for n, g in weight_gradients(part.module)}
            return {place: value.detach().clone() for place, value in found.items()}


def _tensors(value: Any) -> Tensors:
    found: Tensors = {}

    def note(path: str, tensor: torch.Tensor) -> torch.Tensor:
        found[Place("", 0, "out", path.removeprefix("."))] = tensor
        return tensor

    changed(value, note)
    return found


def _own(given: Any) -> Any:
    """Return arguments of its own for a call, without a cache that it would fill."""
    args, kwargs = changed(given, lambda _path, tensor: tensor.detach().clone())
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
    share = float((distance / size(a).clamp(min=1e-30)).max())
    far = float(over_floor(distance, a, w).max())
    name = shared_name(".".join(filter(None, (part.name, place.module))))
    phase = "forward" if place.kind == "out" else "backward"
    return Row(name, 0, place.kind, place.path, phase, far, far, share)


def _worst(rows: list[Row]) -> Row | None:
    """Return the first output that differs by more than rounding, or a gradient."""
    far = [row for row in rows if row.carried > ROUGH]
    outputs = [row for row in far if row.kind == "out"]
    return next(iter(outputs), max(far, key=lambda row: row.carried, default=None))


def _born(module: str, row: Row) -> Born:
    said = f"the gradient of its {row.path}"
    if row.kind == "out":
        said = "what it returns" + (f" ({row.path})" if row.path else "")
    phase: Phase = "forward" if row.kind == "out" else "backward"
    nowhere = np.zeros((0, 2), np.int64)
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


def _compiling(settings: Mapping[str, Any]) -> Compile:
    """Return what compiles a module, beside what others have compiled of its class."""
    alone = "isolate_recompiles" in signature(torch.compile).parameters
    more: dict[str, Any] = {"isolate_recompiles": True} if alone else {}
    return partial(torch.compile, **settings, **more)


def _has_toolchain(model: torch.nn.Module) -> bool:
    """Say whether this machine can compile for a model's device by default."""
    if any(p.device.type == "cuda" for p in model.parameters()):
        return find_spec("triton") is not None
    header = Path(sysconfig.get_path("include")) / "Python.h"
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    return bool(found) and header.is_file()
