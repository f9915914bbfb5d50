"""How much lies where: the bytes that can be reached, by the way to them."""

import collections
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ftlab.probes.holding.climb import unreached
from ftlab.probes.holding.edges import kind_of
from ftlab.probes.holding.labels import Labels
from ftlab.probes.holding.look import Held, Look
from ftlab.probes.holding.walk import Walk
from ftlab.records.holding import GRAPH, Path

MANY_ELEMENTS = 64
"""Elements from which a container counts by itself."""

CONTAINERS = (list, dict, set, collections.deque)


class Survey:
    """One look at all that user code reaches, in `Held` by path.

    It keeps alive what it has seen; what `look` returns does not.

    Parameters
    ----------
    deep
        Also look for tensors that are not reached.
    told
        Called with the path, position and bytes of each thing.

    Attributes
    ----------
    walk
        The objects, by position.
    held
        What lies at each path.
    known
        The ``id`` of the type of all that was met, by its own.
    unreached
        Bytes of tensors that the collector knows and no name reaches, by ``id``.
    """

    def __init__(
        self,
        *,
        deep: bool = False,
        told: Callable[[Path, int, int], object] = lambda *_: None,
    ) -> None:
        self.walk = Walk()
        self.known = {id(each): id(type(each)) for each in self.walk.objects}
        self.held: dict[Path, Held] = {}
        self.storages: dict[Any, int] = {}
        labels = Labels(self.walk)
        for position, size, what in self._sized():
            path = labels.path(position)
            each = self.held.setdefault(path, Held())
            each.bytes += size
            each.count += 1
            each.position = position
            each.first = position if each.first < 0 else each.first
            each.what = "graph" if path[-1] == GRAPH else what
            told(path, position, size)
        self.unreached = {
            id(each): self._new_bytes(each)
            for each in (unreached(self.walk) if deep else ())
        }

    def look(self, step: int, elements: int) -> Look:
        """Return the numbers, which keep nothing alive."""
        return Look(step, self.held, self.unreached, self.known, elements)

    def _sized(self) -> Iterator[tuple[int, int, str]]:
        for position, each in enumerate(self.walk.objects):
            kind = kind_of(type(each))
            if kind == "tensor":
                yield position, self._new_bytes(each), "tensor"
            elif kind == "array":
                if each.base is None:
                    yield position, int(each.nbytes), "array"
            elif kind == "text":
                yield position, sys.getsizeof(each), "text"
            elif type(each) in CONTAINERS and len(each) >= MANY_ELEMENTS:
                yield position, object.__sizeof__(each), "objects"

    def _new_bytes(self, tensor: torch.Tensor) -> int:
        """Return the bytes of a tensor's storage where it was not met before."""
        try:
            with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001
                storage = torch.Tensor.untyped_storage(tensor)
                key = tensor.device, storage._cdata  # noqa: SLF001
                size = 0 if tensor.is_meta else storage.nbytes()
        except (NotImplementedError, RuntimeError):  # sparse; a wrapper of others
            return 0
        if key in self.storages:
            return 0
        self.storages[key] = size
        return size
