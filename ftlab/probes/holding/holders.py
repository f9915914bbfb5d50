"""Who a holder is, in words: from what lies on the way to what it holds."""

import collections
import functools
import queue
import re
import types
from collections.abc import Iterator
from typing import Any

import torch

from ftlab.probes.holding.climb import climbed, tensor_at
from ftlab.probes.holding.edges import Running, kind_of
from ftlab.probes.holding.growth import Grown
from ftlab.probes.holding.labels import NOTEBOOK, own_attributes, way_labels
from ftlab.probes.holding.look import Held, Looks
from ftlab.probes.holding.sources import Lines, emptying_lines, growing_lines
from ftlab.probes.holding.walk import Walk, is_ours
from ftlab.probes.plain import dtype_name
from ftlab.records.holding import (
    CLOSED,
    GARBAGE,
    GRAPH,
    MANY,
    OUTSIDE,
    Growth,
    HolderKind,
    Path,
    names_on,
)


def described(grown: Grown, walk: Walk, looks: Looks) -> Growth:
    """Say who holds what; ``walk`` has the objects of the last look."""
    held = looks[-1].held
    leaf = held.get(grown.leaf, Held())
    ways = [walk.way(end) for end in (leaf.first, leaf.position) if end >= 0]
    old = min((_oldest(way, looks) for way in ways), key=len, default=())
    path = max(grown.path, old, key=len)
    way = ways[-1] if ways else ()
    graphs = grown.leaf[-1] == GRAPH
    lines, emptied = _lines(path, way)
    things = held.get(grown.leaf[:-1]) if graphs else leaf
    return Growth(
        path=path,
        kind=holder_kind(grown.leaf, way, leaf.count),
        what=leaf.what,
        count=things.count if things is not None else grown.now.count,
        count_per_step=grown.things,
        bytes_per_step=grown.rate,
        bytes=float(grown.now.bytes),
        example="" if graphs or not way else example(way[-1]),
        limit=_limit(way),
        lines=lines,
        emptied=emptied,
    )


def _oldest(way: tuple[Any, ...], looks: Looks) -> Path:
    """Return the path to the last thing on a way that was there at each look.

    What hangs on it is new: it is what holds.
    """
    for end in range(len(way) - 1, 0, -1):
        kind = type(way[end])
        # tensors and nodes of graphs: a walk makes some for itself and frees them
        if kind_of(kind) == "object" and all(
            each.known.get(id(way[end])) == id(kind) for each in looks[:-1]
        ):
            return way_labels(way[: end + 1])
    return ()


def _lines(path: Path, way: tuple[Any, ...]) -> tuple[Lines, Lines]:
    """Return where something is put into the nearest name for which that is known.

    And where it is taken out again.
    """
    files = {file for each in way if (file := _file_of(each))}
    scopes = set(_scopes(path, way))
    for name in names_on(path):
        lines = growing_lines(name, files, scopes)
        if lines:
            return lines, emptying_lines(name, files, scopes)
    return (), ()


def _scopes(path: Path, way: tuple[Any, ...]) -> Iterator[str]:
    """Yield the classes on a way, and the functions whose variables are on it."""
    for each in way:
        owner = each if kind_of(type(each)) == "type" else type(each)
        yield from (kind.__name__ for kind in owner.__mro__[:-1])
    for label in path:
        if "()" in label:
            names = re.findall(r"\w+", label.partition("()")[0])
            yield from (f"{name}()" for name in names)


def _file_of(each: Any) -> str:
    """Return the file of a module or a function, running or not; ``""`` for others."""
    if type(each) is Running:
        return str(each.frame.f_code.co_filename)
    if type(each) is types.FunctionType:
        return str(each.__code__.co_filename)
    if type(each) is types.GeneratorType:
        return each.gi_code.co_filename
    module = kind_of(type(each)) == "module"
    return str(vars(each).get("__file__", "")) if module else ""


def grown_unreached(looks: Looks, at_least: float) -> list[Growth]:
    """Name who holds tensors that are new at each look and that no name reaches."""
    first, middle, last = looks
    early = middle.unreached.keys() - first.unreached.keys()
    late = last.unreached.keys() - middle.unreached.keys() - first.unreached.keys()
    size = sum(last.unreached[each] for each in late)
    rate = size / (last.step - middle.step)
    if not early or rate < at_least:
        return []
    tensor = tensor_at(max(late, key=last.unreached.__getitem__))
    if tensor is None:
        return []
    path, way = climbed(tensor)
    if any(is_ours(type(each).__module__) for each in way):
        return []  # what ftlab keeps for its next reading
    kept = (early & last.unreached.keys()) | late
    if len(way) > 1 and type(way[-2]) in (list, collections.deque):
        kept = last.unreached.keys() & set(map(id, way[-2]))
    lines, emptied = _lines(path, way)
    # no generator: it would itself be among those who hold the tensor
    return [
        Growth(
            path=path if path[0] in (GARBAGE, OUTSIDE) else path[:-1],
            kind=holder_kind(path, way),
            what="tensor",
            count=len(kept),
            count_per_step=len(late) / (last.step - middle.step),
            bytes_per_step=rate,
            bytes=float(sum(last.unreached[each] for each in kept)),
            example=example(tensor),
            lines=lines,
            emptied=emptied,
        )
    ]


def holder_kind(path: Path, way: tuple[Any, ...], count: int = 0) -> HolderKind:
    """Tell what kind of thing holds, by its name or by what lies on the way.

    ``count`` things are held: a list of a dataset that has no more elements is appended
    to with each row, and no place for each row that is filled once.
    """
    if path[0] in (GARBAGE, OUTSIDE):
        return "garbage" if path[0] == GARBAGE else "unknown"
    if path[:2] == NOTEBOOK:
        return "notebook"
    if any("_hooks" in label for label in path):
        return "hook"
    for kind, of in _HOLDERS:
        holders = [at for at, each in enumerate(way) if issubclass(type(each), of)]
        if kind == "dataset" and holders and _is_appended(way[holders[-1] :], count):
            return "collection"
        if holders:
            return kind
    if any(label.startswith(CLOSED) for label in path):
        return "closure"
    return "collection" if MANY in path else "variable"


def _is_appended(way: tuple[Any, ...], count: int) -> bool:
    own = own_attributes(way[0])
    container: Any = next((each for each in way[1:] if each is not own), None)
    return type(container) in (list, collections.deque) and len(container) <= count


_CACHE = type(functools.lru_cache(len))

_HOLDERS: tuple[tuple[HolderKind, type], ...] = (
    ("traceback", types.TracebackType),
    ("cache", _CACHE),
    ("queue", queue.Queue),
    ("dataset", torch.utils.data.Dataset),
    ("optimizer", torch.optim.Optimizer),
)
"""Types that tell by themselves why something is kept."""


def example(held: Any) -> str:
    """Describe one thing that is held: its dtype and shape, or its type."""
    kind = kind_of(type(held))
    if kind == "tensor":
        return f"{dtype_name(held.dtype)} {tuple(torch.Tensor.size(held))}"
    if kind == "array":
        return f"{held.dtype} {held.shape}"
    return type(held).__qualname__


def _limit(way: tuple[Any, ...]) -> int:
    """Return how many things the holder keeps at most; 0 where nothing limits it."""
    for each in way:
        if type(each) is collections.deque and each.maxlen:
            return each.maxlen
        if type(each) is _CACHE:
            return int(each.cache_parameters()["maxsize"] or 0)
    return 0
