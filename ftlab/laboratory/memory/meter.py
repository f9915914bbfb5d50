"""Every storage of a step: when it is made, when it goes, and by whom.

A `Meter` sees each operation, of real tensors and of tensors without values alike. A
storage's death is told by Python when its last tensor is gone, those that an autograd
graph has saved among them.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from ftlab.probes.plain import dtype_name
from ftlab.records.memory import BEFORE, PHASES, Category, Life, PhaseName, StepMemory
from ftlab.replay.torch_private import storage_key
from ftlab.replay.tracing.lineage import Lineage
from ftlab.replay.tracing.modules import ModuleStack, quantization_tensors
from ftlab.replay.tracing.origin import Origins
from ftlab.replay.tracing.site import Site
from ftlab.replay.tracing.tracer import OpTracer
from ftlab.replay.tracing.traits import is_bookkeeping, results, traits


@dataclass(slots=True)
class _Open:
    """A storage under way; see `Life`."""

    bytes: int
    born: int
    name: str
    what: str
    site: Site | None = None
    category: Category | None = None
    died: int = BEFORE
    reads: int = 0
    last_read: int = BEFORE
    unwritten: bool = False
    last_size: int = 0


class Head(NamedTuple):
    """How logits are known.

    Attributes
    ----------
    vocabulary
        Size of their last dimension.
    modules
        Paths of the modules that make them: the head, and those that it is in.
    """

    vocabulary: int
    modules: frozenset[str]


class Meter(OpTracer):
    """Notes the storages of one step, within which it is entered.

    Parameters
    ----------
    modules
        Says which module is running.
    head
        How logits are known.
    heap
        Reads the bytes in use, asked after each operation.
    """

    def __init__(
        self,
        modules: ModuleStack,
        head: Head,
        heap: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(modules, Origins(), Lineage(), lambda: False)
        self._head = head
        self._open: dict[int, _Open] = {}
        self._all: list[_Open] = []
        self._watches: dict[int, Any] = {}
        self._starts: list[int] = []
        self._heap = heap
        self._peaks: list[float] = []
        self._base = 0.0

    def hold(self, tensor: Any, category: Category, name: str = "") -> None:
        """Note whose a tensor is, whether it was there before or was made."""
        for part in parts_of(tensor):
            found = self._note(part, BEFORE, name)
            if found is not None:
                found.category = category
                found.name = found.name or name

    def begin(self, phase: PhaseName) -> None:
        """Say that a phase begins."""
        if not self._starts and self._heap is not None:
            self._base = self._heap() - sum(each.bytes for each in self._open.values())
        self._phase = "optimizer" if phase == "update" else "forward"
        self._starts.append(len(self.sites))
        self._peaks.append(0.0)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` and note what it was given and has made."""
        kwargs = kwargs or {}
        if is_bookkeeping(func) or func.namespace == "prim":
            return func(*args, **kwargs)
        index = len(self.sites)
        site = self._site(func)
        self.sites.append(site)
        for tensor in tree_leaves((args, kwargs)):
            given = self._open.get(storage_of(tensor))
            if given is not None and not traits(func).view:
                given.reads, given.last_read = given.reads + 1, index
        outputs = func(*args, **kwargs)
        for tensor in tree_leaves(results(func, args, kwargs, outputs)):
            made = self._note(tensor, index, site.op)
            if made is not None and made.born == index:
                made.site, made.unwritten = site, traits(func).uninitialised
        if self._heap is not None and self._peaks:
            self._peaks[-1] = max(self._peaks[-1], self._heap() - self._base)
        return outputs

    def _note(self, tensor: Any, index: int, name: str) -> _Open | None:
        """Return the life of a tensor's storage, which may begin now."""
        key = storage_of(tensor)
        if not key:
            return None
        storage = tensor.untyped_storage()
        found = self._open.get(key)
        if found is not None:
            found.bytes = max(found.bytes, storage.nbytes())
            return found
        what = f"{dtype_name(tensor.dtype)} {tuple(tensor.shape)}"
        found = _Open(storage.nbytes(), index, name, what)
        if index != BEFORE:
            found.last_size = tensor.shape[-1] if tensor.dim() else 1
        self._open[key] = found
        self._all.append(found)
        self._watches[key] = weakref.ref(storage, partial(self._died, key))
        return found

    def _died(self, key: int, _storage: object) -> None:
        found = self._open.pop(key, None)
        self._watches.pop(key, None)
        if found is not None:
            found.died = len(self.sites) - 1

    def finish(self) -> StepMemory:
        """Return what was noted; nothing is watched any more."""
        total = len(self.sites)
        for each in self._open.values():
            each.died = total
        self._watches.clear()
        self._open.clear()
        starts = [*self._starts, *([total] * (len(PHASES) - len(self._starts)))]
        ended = [each for each in self._all if each.died != BEFORE]
        lives = tuple(self._life(each, starts) for each in ended)
        first, second, third = starts
        return StepMemory(lives, (first, second, third), total, tuple(self._peaks))

    def _life(self, each: _Open, starts: list[int]) -> Life:
        site = each.site
        where = ("", "") if site is None else (site.module or "", _line(site))
        return Life(
            each.bytes,
            each.born,
            each.died,
            each.category or self._category(each, starts[1]),
            each.name,
            *where,
            each.what,
            each.reads,
            each.last_read,
            each.unwritten,
        )

    def _category(self, each: _Open, backward: int) -> Category:
        """Tell what nobody has named by its life: what forward leaves for backward."""
        site = each.site
        size, modules = self._head
        if site is not None and each.last_size == size and site.module in modules:
            return "logits and loss"
        if each.born < backward <= each.died:
            return "activations"
        again = site is not None and site.phase == "recompute"
        return "activations" if again else "temporary"


def _line(site: Site) -> str:
    """Return the innermost line outside torch; backward's is that of its forward."""
    if site.phase == "backward":
        return "" if site.forward is None else site.forward.library_line
    return site.library_line


def storage_of(tensor: Any) -> int:
    """Return the `storage_key` of a tensor that has a storage, 0 of all else."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided:
        return 0
    try:
        return storage_key(tensor)
    except (NotImplementedError, RuntimeError, ValueError):  # a wrapper, or lazy
        return 0


def parts_of(value: Any) -> list[torch.Tensor]:
    """Return a tensor, and what a weight of few bits is scaled with."""
    if not isinstance(value, torch.Tensor):
        return []
    scales = getattr(value, "SCB", None)
    found = [value, *quantization_tensors(value)]
    return [*found, scales] if isinstance(scales, torch.Tensor) else found
