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
from ftlab.probes.holding.walk import MOST, Walk
from ftlab.records.holding import GRAPH, Path

MANY_ELEMENTS = 64
"""Elements from which a container counts by itself."""

CONTAINERS = (list, dict, set, collections.deque)


def survey(
    step: int,
    elements: int = 0,
    *,
    deep: bool = False,
    most: int = MOST,
    told: Callable[[Path, int, int], object] = lambda *_: None,
) -> tuple[Look, Walk]:
    """Look at all that user code reaches; the walk keeps it alive, the numbers do not.

    Parameters
    ----------
    step, elements
        See `Look`.
    deep
        Also look for tensors that are not reached.
    most
        See `Walk`.
    told
        Called with the path, position and bytes of each thing.
    """
    walk, held = Walk(most), dict[Path, Held]()
    labels, met = Labels(walk), set[Any]()
    for position, size, what in _sized(walk, met):
        path = labels.path(position)
        each = held.setdefault(path, Held())
        each.bytes += size
        each.count += 1
        each.position = position
        each.first = position if each.first < 0 else each.first
        each.what = "graph" if path[-1] == GRAPH else what
        told(path, position, size)
    lost = {id(e): _new_bytes(e, met) for e in (unreached(walk) if deep else ())}
    known = {id(each): id(type(each)) for each in walk.objects}
    return Look(step, held, lost, known, elements), walk


def _sized(walk: Walk, met: set[Any]) -> Iterator[tuple[int, int, str]]:
    for position, each in enumerate(walk.objects):
        kind = kind_of(type(each))
        if kind == "tensor":
            yield position, _new_bytes(each, met), "tensor"
        elif kind == "array":
            if each.base is None:
                yield position, int(each.nbytes), "array"
        elif kind == "text":
            yield position, sys.getsizeof(each), "text"
        elif type(each) in CONTAINERS and len(each) >= MANY_ELEMENTS:
            yield position, object.__sizeof__(each), "objects"


def _new_bytes(tensor: torch.Tensor, met: set[Any]) -> int:
    """Return the bytes of a tensor's storage where it was not met before."""
    try:
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  else subclasses run their code
            storage = torch.Tensor.untyped_storage(tensor)
            key = tensor.device, storage._cdata  # noqa: SLF001  one for all of its views
            size = 0 if tensor.is_meta else storage.nbytes()
    except (NotImplementedError, RuntimeError):  # sparse; a wrapper of others
        return 0
    if key in met:
        return 0
    met.add(key)
    return size
