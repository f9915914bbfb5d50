"""Letting go of a model: all that it has, and all that is known to hold it."""

import contextlib
import ctypes
import gc
import re
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from ftlab.laboratory.memory.meter import parts_of, storage_of
from ftlab.probes.holding.climb import climbed, unreached
from ftlab.probes.holding.edges import kind_of
from ftlab.probes.holding.heap import bytes_in_use
from ftlab.probes.holding.labels import Labels
from ftlab.probes.holding.walk import Walk
from ftlab.records.errors import ReleasedError
from ftlab.records.holding import path_text
from ftlab.records.release import Released, StillHeld
from ftlab.replay.torch_private import clear_hooks

DEEP = 3
"""Containers within each other in which a notebook's output is looked for."""

_OUTPUTS = ("Out", "_oh")
_LATEST = re.compile(r"_{1,3}|_\d+")
"""Names of values that cells have shown."""


class _Kept:
    """Storages by what they were in the model, without keeping them."""

    def __init__(self) -> None:
        self.names: dict[int, tuple[str, int, Any]] = {}

    def add(self, name: str, tensor: Any) -> None:
        for part in parts_of(tensor):
            if part.layout == torch.strided and not part.is_meta:
                storage = part.untyped_storage()
                entry = name, storage.nbytes(), weakref.ref(storage)
                self.names.setdefault(storage_of(part), entry)

    @property
    def bytes(self) -> int:
        return sum(size for _, size, _ in self.names.values())

    def alive(self) -> dict[int, tuple[str, int]]:
        return {
            key: (name, size)
            for key, (name, size, there) in self.names.items()
            if there() is not None
        }


def released(model: torch.nn.Module) -> Released:
    """Let go of a model's memory; it cannot be used any more."""
    before = bytes_in_use()
    kept = _Kept()
    kind = type(model).__qualname__
    tensors = dict([*model.named_parameters(), *model.named_buffers()])
    for name, tensor in tensors.items():
        kept.add(name, tensor)
        if tensor.is_leaf:
            kept.add(f"{name}.grad", tensor.grad)
    done = [*_optimizers(tensors, kept), *_hooks(model, tensors.values())]
    for module in model.modules():
        vars(module)["forward"] = _Gone(kind)
        if type(module).__module__.startswith("bitsandbytes."):
            vars(module).update(quant_state=None, state=None)
    for tensor in tensors.values():
        tensor.grad = None
        _empty(tensor)
    own = {id(each) for each in (*model.modules(), *tensors.values())}
    done += _notebook(own)
    del tensors, tensor
    _collect()
    held = tuple(sorted(_held(kept), key=lambda each: (-each.bytes, each.path)))
    left = sum(size for _, size in kept.alive().values())
    return Released(
        kind, kept.bytes, kept.bytes - left, before, bytes_in_use(), tuple(done), held
    )


class _Gone:
    """Stands in for the forward of a module that was released."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        msg = (
            f"this {self._kind} was released by ftlab.release, and has no weights any "
            "more; build or load it again."
        )
        raise ReleasedError(msg)


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
    for each in gc.get_objects():
        if not issubclass(type(each), torch.optim.Optimizer):
            continue
        groups = getattr(each, "param_groups", [])
        mine = [p for group in groups for p in group["params"] if id(p) in names]
        for parameter in mine:
            for key, value in each.state.pop(parameter, {}).items():
                kept.add(f"{names[id(parameter)]} ({key})", value)
        for group in groups if mine else ():
            group["params"] = [p for p in group["params"] if id(p) not in names]
        if mine:
            yield f"parameters in {type(each).__name__}: {len(mine)}"


def _hooks(model: torch.nn.Module, tensors: Iterable[torch.Tensor]) -> Iterator[str]:
    count = sum(map(clear_hooks, (*model.modules(), *tensors)))
    if count:
        yield f"hooks: {count}"


def _notebook(own: set[int]) -> Iterator[str]:
    """Take what holds the model out of a notebook's outputs and last traceback."""
    names = vars(sys.modules["__main__"])
    shown = {id(table): table for each in _OUTPUTS if (table := names.get(each))}
    gone = {id(v) for table in shown.values() for v in _forgotten(table, own)}
    for table in (names, getattr(sys.displayhook, "__dict__", {})):
        for name in [each for each in table if _LATEST.fullmatch(each)]:
            if _reaches(table[name], own, DEEP):
                gone.add(id(table[name]))
                table[name] = ""
    if gone:
        yield f"values of cells (Out, _): {len(gone)}"
    failed = [each for each in _LAST if getattr(sys, each, None) is not None]
    for each in failed:
        delattr(sys, each)
    if failed:
        yield "the last traceback"


def _forgotten(table: Any, own: set[int]) -> list[Any]:
    """Take what holds the model out of a table of outputs."""
    if not isinstance(table, dict):
        return []
    keys = [key for key, value in table.items() if _reaches(value, own, DEEP)]
    return [table.pop(key) for key in keys]


_LAST = ("last_exc", "last_value", "last_traceback", "last_type")


def _reaches(value: Any, own: set[int], deep: int) -> bool:
    """Say whether a value is one of some objects, or holds one near by."""
    if value is None or isinstance(value, str | int | float):
        return False
    if id(value) in own:
        return True
    if not deep:
        return False
    inner = list(value) if isinstance(value, list | tuple | set) else []
    if isinstance(value, dict):
        inner = list(value.values())
    return any(_reaches(each, own, deep - 1) for each in inner)


def _collect() -> None:
    """Let Python, CUDA and the C library give back what nobody holds."""
    gc.collect()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
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
        tensor: Any = next((each for each in gc.get_objects() if id(each) == key), None)
        if kind_of(type(tensor)) == "tensor" and storage_of(tensor) in alive:
            name, size = alive.pop(storage_of(tensor))
            yield StillHeld(" ".join(climbed(tensor)[0]), name, size)
    for name, size in alive.values():
        yield StillHeld("something outside of Python", name, size)
