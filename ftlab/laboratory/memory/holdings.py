"""Who holds what now: all that names reach, by the model or optimizer that owns it."""

import contextlib
from collections.abc import Mapping

import psutil
import torch

from ftlab.laboratory.memory.meter import parts_of, storage_of
from ftlab.probes.holding.climb import climbed, tensor_at
from ftlab.probes.holding.edges import forget_types, kind_of
from ftlab.probes.holding.heap import bytes_in_use, heap_in_use, is_exact
from ftlab.probes.holding.labels import Labels
from ftlab.probes.holding.survey import survey
from ftlab.probes.holding.walk import Walk
from ftlab.probes.plain import dtype_name
from ftlab.records.holding import GARBAGE, GRAPH, OUTSIDE, Path, path_text
from ftlab.records.holdings import Holding, Holdings, Owner, ProcessMemory

NAMED = 3
"""Tensors that no name reaches whose holders are asked for, the largest."""

BATCH = frozenset({"['input_ids']", "['labels']", "['attention_mask']"})

_Key = tuple[Owner, str, str]


def holdings() -> Holdings:
    """Look at all that user code reaches."""
    things: list[tuple[Path, int, int]] = []
    look, walk = survey(0, deep=True, told=lambda *each: things.append(each))
    owned = _Owned(walk)
    sums: dict[_Key, list[int]] = {}
    for path, position, size in things:
        each = sums.setdefault(owned.key(path, position), [0, 0])
        each[0] += size
        each[1] += 1
    held = [Holding(*key, *amounts) for key, amounts in sums.items() if amounts[0]]
    held += _unreached(look.unreached)
    forget_types()
    held.sort(key=lambda each: (-each.bytes, each.path))
    return Holdings(tuple(held), process_memory())


class _Owned:
    """Whose tensor something is."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._labels = Labels(walk)
        self._owners: dict[int, _Key] = {}
        found = list(enumerate(walk.objects))
        modules = [(at, e) for at, e in found if isinstance(e, torch.nn.Module)]
        inner = {id(child) for _, each in modules for child in each.children()}
        for at, module in modules:
            if id(module) not in inner:
                self._own_module(at, module)
        for at, each in found:
            if isinstance(each, torch.optim.Optimizer):
                key = self._key("optimizer state", at, each)
                for state in each.state.values():
                    for value in state.values() if isinstance(state, Mapping) else ():
                        self._owners.setdefault(storage_of(value), key)

    def _own_module(self, at: int, module: torch.nn.Module) -> None:
        weights = self._key("weights", at, module)
        gradients = self._key("gradients", at, module)
        for tensor in (*module.parameters(), *module.buffers()):
            for part in parts_of(tensor):
                self._owners.setdefault(storage_of(part), weights)
            if tensor.is_leaf and tensor.grad is not None:
                self._owners.setdefault(storage_of(tensor.grad), gradients)

    def _key(self, owner: Owner, at: int, each: object) -> _Key:
        return owner, path_text(self._labels.path(at)), type(each).__qualname__

    def key(self, path: Path, position: int) -> _Key:
        """Return the kind of an object, the name that holds it, and a word on it."""
        each = self._walk.objects[position]
        key = storage_of(each)  # a graph may hold a view of a weight
        known = self._owners.get(key) if key else None
        if known is not None:
            return known
        text = path_text(path)
        if path[-1] == GRAPH:
            return "graphs", path_text(path[:-1]) or text, "what backward needs"
        if kind_of(type(each)) != "tensor":
            return "other objects", text, type(each).__qualname__
        if isinstance(each, torch.nn.Parameter):
            return "parameters of a model that is gone", text, dtype_name(each.dtype)
        owner: Owner = "batches" if BATCH.intersection(path) else "other tensors"
        return owner, text, dtype_name(each.dtype)


def _unreached(lost: Mapping[int, int]) -> list[Holding]:
    """Name who holds the largest tensors that no name reaches."""
    sizes = sorted(lost.items(), key=lambda each: -each[1])
    found = []
    for key, size in [each for each in sizes if each[1]][:NAMED]:
        tensor = tensor_at(key)
        if tensor is None:
            continue
        path, _ = climbed(tensor)
        text = path_text(path)
        owner: Owner = "held inside libraries"
        if path[0] in (GARBAGE, OUTSIDE):
            owner, root = "reached by no name", path[0].strip("<>")
            text = f"{root} ({text})" if text else root
        found.append(Holding(owner, text, dtype_name(tensor.dtype), size, 1))
    rest = [size for _, size in sizes[NAMED:] if size]
    if rest:
        found.append(Holding("reached by no name", "others", "", sum(rest), len(rest)))
    return found


def process_memory() -> ProcessMemory:
    """Ask the system, the C library and CUDA."""
    rss = float(psutil.Process().memory_info().rss)
    heap = heap_in_use() if is_exact() else float("nan")
    if not torch.cuda.is_initialized():
        return ProcessMemory(rss, heap)
    pinned = float("nan")
    with contextlib.suppress(Exception):  # told since torch 2.7
        pinned = float(torch.cuda.host_memory_stats()["allocated_bytes.current"])
    blocks = [b for each in torch.cuda.memory_snapshot() for b in each["blocks"]]
    free = [float(b["size"]) for b in blocks if b["state"] == "inactive"]
    devices = range(torch.cuda.device_count())
    reserved = float(sum(map(torch.cuda.memory_reserved, devices)))
    largest = max(free, default=0.0)
    return ProcessMemory(rss, heap, bytes_in_use(), reserved, largest, pinned)
