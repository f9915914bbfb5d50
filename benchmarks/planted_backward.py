"""Changes of backward alone, for `benchmarks.planted_pairs --backward`.

Forward stays what it was, to the last bit; one gradient is another, at least thirty
times as far as rounding moves it (so that an eighth of a token's values, a slice of a
head, is ten times as far), or is dropped:

- a hook on the gradient of what a module returns, or is given, put there by a hook of
  that module or by the code around it;
- a full backward hook of a module;
- one before its backward, which torch puts around the module: what it does happens to
  the gradient before it comes there;
- a hook on a parameter;
- an autograd function that is an identity with a wrong backward, within a module, on
  the result of one of torch's functions, or around it, on a branch;
- ``detach`` at the same places.

Right is the module whose code, or whose hook, does this; of a hook before backward the
module around; of a hook on a parameter the module that has it, by the name that torch
lists first. The operation is right where it
is the function's node (``WrongBackward``), the function of torch whose result loses its
gradient (``Tensor.detach``, if the code calls that), or, of a hook, which is no
operation of torch, its source line.

What no trainable weight's gradient shows, to the last bit, is not planted: what leads
to frozen weights alone, is not used, or has no gradient anyway.
"""

import contextlib
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from benchmarks.planted_pairs import FLOORS, ChangedCall, Planted, changing
from ftlab.executions.births import around
from ftlab.executions.listening import heard_modules, shared_name
from ftlab.executions.side import WithoutDropout

CHANGED = " change"
"""End of the source line that a hook's change is told by."""
Change = Callable[[torch.Tensor], torch.Tensor]


class Wrong(torch.autograd.Function):
    """An identity whose gradient is changed."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor, change: Change) -> torch.Tensor:
        """Return what is given."""
        context.change = change
        return x.view_as(x)

    @staticmethod
    def backward(*given: Any) -> Any:
        """Return another gradient."""
        context, gradient = given
        return context.change(gradient), None


def plant(model: Any, dtype: torch.dtype, draw: random.Random) -> Planted:
    """Change one gradient of ``model``."""
    planted = _plant(model, dtype, draw)
    planted.shown = partial(reaches, planted)
    return planted


def _plant(model: Any, dtype: torch.dtype, draw: random.Random) -> Planted:
    size = -1.0 if draw.random() < 0.2 else FLOORS[dtype] * 10 ** draw.uniform(1.5, 2.5)
    scaled = changing(draw, size)

    def change(gradient: torch.Tensor) -> torch.Tensor:
        return scaled(gradient)

    kind = draw.choice(("hook", "parameter", "function", "around", "around"))
    if kind == "parameter":
        held = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
        name, parameter = draw.choice(held)
        module, _, path = shared_name(name).rpartition(".")
        remove = parameter.register_hook(change).remove
        return Planted(f"parameter {path}", module, CHANGED, remove=[remove])
    if kind == "hook":
        return _hook(model, change, draw)
    how = draw.choice(("hook", "wrong", "detach"))
    if kind == "around":
        return _around(model, how, change, draw)
    how = "wrong" if how == "hook" else how
    module = draw.choice([n for n, _ in heard_modules(model) if n and "drop" not in n])
    mode = ChangedCall(model, module, draw.randrange(6), _on_values(how, change, []))
    op = "WrongBackward" if how == "wrong" else mode
    return Planted(f"function {how}", module, op, lambda: mode, [mode.remove])


def _on_values(how: str, change: Change, remove: list[Callable[[], None]]) -> Change:
    """Return what is done to a tensor so that its gradient is another."""

    def done(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.requires_grad:
            return tensor
        if how == "hook":
            remove.append(tensor.register_hook(change).remove)
            return tensor
        return tensor.detach() if how == "detach" else Wrong.apply(tensor, change)

    return done


def _hook(model: Any, change: Change, draw: random.Random) -> Planted:
    lists = torch.nn.ModuleList | torch.nn.ModuleDict  # which never run
    named = [
        (n, m)
        for n, m in heard_modules(model)
        if n and "drop" not in n and not isinstance(m, lists)
    ]
    module, inner = draw.choice(named)
    kind = draw.choice(("returned", "given", "backward", "before backward"))
    remove: list[Callable[[], None]] = []
    done = _on_values("hook", change, remove)
    if kind == "returned":
        handle = inner.register_forward_hook(lambda _m, _g, out: _first(out, done))
    elif kind == "given":
        handle = inner.register_forward_pre_hook(
            lambda _m, args, kwargs: _first_given(args, kwargs, done), with_kwargs=True
        )
    elif kind == "backward":
        handle = inner.register_full_backward_hook(
            lambda _m, given, _out: tuple(g if g is None else change(g) for g in given)
        )
    else:
        handle = inner.register_full_backward_pre_hook(
            lambda _m, out: tuple(g if g is None else change(g) for g in out)
        )
        module = around(module, [name for name, _ in named])
    remove.append(handle.remove)
    return Planted(f"hook {kind}", module, CHANGED, remove=remove)


def _around(model: Any, how: str, change: Change, draw: random.Random) -> Planted:
    """Change what a module's code takes from one within it, or gives to it."""
    named = dict(heard_modules(model))
    module, name, child = draw.choice(
        [
            (n, name, child)
            for n, m in named.items()
            for name, child in m.named_children()
            if not isinstance(m, torch.nn.ModuleList | torch.nn.ModuleDict)
            and not isinstance(child, torch.nn.ModuleList | torch.nn.ModuleDict)
            and "drop" not in name
        ]
    )
    taken: list[Callable[[], None]] = []
    done, given = _on_values(how, change, taken), draw.random() < 0.5

    def called(*args: Any, **kwargs: Any) -> Any:
        if given:
            args, kwargs = _first_given(args, kwargs, done)
            return child(*args, **kwargs)
        return _first(child(*args, **kwargs), done)

    parent = named[module]
    vars(parent)[name] = called  # found before the module, which keeps its place

    def remove() -> None:
        del vars(parent)[name]

    taken.append(remove)
    op = {"hook": CHANGED, "wrong": "WrongBackward", "detach": "Tensor.detach"}[how]
    kind = f"around {name}, {'given' if given else 'returned'}, {how}"
    return Planted(kind, module, op, remove=taken)


def _first(output: Any, done: Change) -> Any:
    if isinstance(output, torch.Tensor):
        return done(output)
    if isinstance(output, tuple):
        return (done(output[0]), *output[1:])
    for key, value in output.items():
        if isinstance(value, torch.Tensor) and value.dim() > 2:
            output[key] = done(value)
            break
    return output


def _first_given(
    args: tuple[Any, ...], kwargs: dict[str, Any], done: Change
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if args:
        first = args[0]
        return ((done(first) if _is_float(first) else first), *args[1:]), kwargs
    for key, value in kwargs.items():
        if _is_float(value):
            return args, kwargs | {key: done(value)}
    return args, kwargs


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def reaches(planted: Planted, model: Any, twin: Any, given: Any) -> bool:
    """Say whether a trainable weight's gradient shows the change, at all."""
    found = []
    for each, settings in ((model, contextlib.nullcontext), (twin, planted.settings)):
        with settings(), WithoutDropout():
            loss = each(**given).loss
        if loss.requires_grad:
            loss.backward()
        found.append([p.grad for p in each.parameters()])
        each.zero_grad()
    return any(
        (a is None) != (b is None) or (a is not None and not torch.equal(a, b))
        for a, b in zip(*found, strict=True)
    )
