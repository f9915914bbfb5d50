"""Letting go of a model: all that it has, and all that is known to hold it."""

import contextlib
import ctypes
import gc
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from ftlab.laboratory.memory.gone import gone
from ftlab.laboratory.memory.meter import parts_of, storage_of
from ftlab.probes.holding.climb import climbed, tensor_at, unreached
from ftlab.probes.holding.edges import kind_of
from ftlab.probes.holding.heap import bytes_in_use
from ftlab.probes.holding.labels import OUTPUTS, SHOWN, Labels
from ftlab.probes.holding.walk import Walk
from ftlab.records.holding import path_text
from ftlab.records.release import Released, StillHeld
from ftlab.replay.torch_private import clear_hooks

DEEP = 3
"""Containers within each other in which a notebook's output is looked for."""

_LAST = ("last_exc", "last_value", "last_traceback", "last_type")


class _Kept:
    """Storages by what they were in the model, without keeping them."""

    def __init__(self) -> None:
        self.bytes = 0
        self._there: dict[int, tuple[Any, str, int]] = {}

    def add(self, name: str, tensor: Any) -> None:
        for part in parts_of(tensor):
            key = 0 if part.is_meta else storage_of(part)
            if key and key not in self._there:
                storage = part.untyped_storage()
                self._there[key] = weakref.ref(storage), name, storage.nbytes()
                self.bytes += storage.nbytes()

    def alive(self) -> dict[int, tuple[str, int]]:
        return {
            key: (name, size)
            for key, (seen, name, size) in self._there.items()
            if seen() is not None
        }


def released(model: torch.nn.Module) -> Released:
    """Let go of a model's memory; it cannot be used any more."""
    before = bytes_in_use()
    kept, kind = _Kept(), type(model).__qualname__
    modules = list(model.modules())
    tensors = dict([*model.named_parameters(), *model.named_buffers()])
    own, mine = set(map(id, tensors.values())), set(map(id, modules))
    hooks = sum(map(clear_hooks, modules))
    shown = [*_notebook(own | mine), *_traceback()]
    gc.collect()
    others = (each for each in _known(torch.nn.Module) if id(each) not in mine)
    shared = {id(t) for m in others for slots in _slots(m) for t in slots.values()}
    theirs = (shared & own) | _reached(modules, own)
    alone = {name: each for name, each in tensors.items() if id(each) not in shared}
    for name, tensor in tensors.items():
        kept.add(name, tensor)
        if name in alone and tensor.is_leaf:
            kept.add(f"{name}.grad", tensor.grad)
    done = list(_optimizers(alone, kept))
    hooks += sum(map(clear_hooks, alone.values()))
    done += [f"hooks: {hooks}", *shown] if hooks else shown
    for module in modules:
        vars(module)["forward"] = partial(gone, kind)
        if type(module).__module__.startswith("bitsandbytes."):
            vars(module).update(quant_state=None, state=None)
        _take_out(module, theirs)
    for tensor in alone.values():
        tensor.grad = None
        if id(tensor) not in theirs:
            _empty(tensor)
    del tensors, tensor, alone
    _collect()
    held = tuple(sorted(_held(kept), key=lambda each: (-each.bytes, each.path)))
    left = sum(size for _, size in kept.alive().values())
    return Released(
        kind, kept.bytes, kept.bytes - left, before, bytes_in_use(), tuple(done), held
    )


def _known(kind: type) -> list[Any]:
    return [each for each in gc.get_objects() if issubclass(type(each), kind)]


def _reached(modules: Iterable[torch.nn.Module], own: set[int]) -> set[int]:
    """Return which tensors are reached past model and optimizers; all, if unknown."""
    optimizers = _known(torch.optim.Optimizer)
    groups = [g for each in optimizers for g in getattr(each, "param_groups", [])]
    walk = Walk(passed=(*modules, *optimizers, *groups))
    return own.intersection(map(id, walk.objects)) if walk.is_whole else own


def _slots(module: torch.nn.Module) -> list[dict[str, Any]]:
    return [vars(module).get(name) or {} for name in ("_parameters", "_buffers")]


def _take_out(module: torch.nn.Module, held: set[int]) -> None:
    """Put empty tensors in the place of those that others hold."""
    for slots in _slots(module):
        for name in [name for name, each in slots.items() if id(each) in held]:
            slots[name] = torch.nn.Parameter(slots[name].data.new_empty(0), False)


def _empty(tensor: Any) -> None:
    """Give a tensor an empty storage, and a weight of few bits no scales."""
    with torch.no_grad():
        tensor.data = tensor.data.new_empty(0)
    for name in ("quant_state", "SCB", "CB"):
        if hasattr(tensor, name):
            setattr(tensor, name, None)


def _optimizers(tensors: Mapping[str, Any], kept: _Kept) -> Iterator[str]:
    """Take a model's parameters out of all optimizers."""
    names = {id(each): name for name, each in tensors.items()}
    for each in _known(torch.optim.Optimizer):
        groups = getattr(each, "param_groups", [])
        mine = [p for group in groups for p in group["params"] if id(p) in names]
        for parameter in mine:
            for key, value in each.state.pop(parameter, {}).items():
                kept.add(f"{names[id(parameter)]} ({key})", value)
        for group in groups if mine else ():
            group["params"] = [p for p in group["params"] if id(p) not in names]
        if mine:
            yield f"parameters in {type(each).__name__}: {len(mine)}"


def _notebook(own: set[int]) -> Iterator[str]:
    """Take what holds the model out of a notebook's outputs."""
    names = vars(sys.modules["__main__"])
    gone: set[int] = set()
    for table in map(names.get, OUTPUTS):
        if isinstance(table, dict):
            for key in [k for k, v in table.items() if _reaches(v, own, DEEP)]:
                gone.add(id(table.pop(key)))
    for table in (names, getattr(sys.displayhook, "__dict__", {})):
        for name in [each for each in table if SHOWN.fullmatch(each)]:
            if _reaches(table[name], own, DEEP):
                gone.add(id(table[name]))
                table[name] = ""
    if gone:
        yield f"values of cells (Out, _): {len(gone)}"


def _traceback() -> Iterator[str]:
    failed = [each for each in _LAST if getattr(sys, each, None) is not None]
    for each in failed:
        delattr(sys, each)
    if failed:
        yield "the last traceback"


def _reaches(value: Any, own: set[int], deep: int) -> bool:
    """Say whether a value is one of some objects, or holds one near by."""
    if id(value) in own:
        return True
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple | set):
        return False
    return deep > 0 and any(_reaches(each, own, deep - 1) for each in list(value))


def _collect() -> None:
    """Let Python, CUDA and the C library give back what nobody holds."""
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _held(kept: _Kept) -> Iterator[StillHeld]:
    """Name who still holds storages, each once."""
    alive = kept.alive()
    if not alive:
        return
    walk = Walk()
    labels = Labels(walk)
    for position, each in enumerate(walk.objects):
        if kind_of(type(each)) == "tensor" and storage_of(each) in alive:
            name, size = alive.pop(storage_of(each))
            yield StillHeld(path_text(labels.path(position)), name, size)
    lost = [id(e) for e in unreached(walk) if storage_of(e) in alive]
    del walk, labels
    for key in lost:
        tensor = tensor_at(key)
        if tensor is not None and storage_of(tensor) in alive:
            name, size = alive.pop(storage_of(tensor))
            yield StillHeld(" ".join(climbed(tensor)[0]), name, size)
    for name, size in alive.values():
        yield StillHeld("something outside of Python", name, size)
