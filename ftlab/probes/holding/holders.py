"""Who a holder is, in words: from what lies on the way to what it holds."""

import collections
import functools
import gc
import queue
import types
from typing import Any

import torch

from ftlab.probes.holding.climb import climbed
from ftlab.probes.holding.edges import kind_of
from ftlab.probes.holding.growth import Grown, Looks
from ftlab.probes.holding.sources import growing_lines
from ftlab.probes.holding.survey import Survey
from ftlab.records.holding import (
    GARBAGE,
    GRAPH,
    MANY,
    OUTSIDE,
    Growth,
    HolderKind,
    Path,
    last_name,
)


def described(grown: Grown, survey: Survey) -> Growth:
    """Say who holds what; the survey still knows the objects."""
    walk = survey.walk
    if walk is None:
        msg = "the survey has let its objects go"
        raise RuntimeError(msg)
    leaf = survey.held.get(grown.leaf)
    way = walk.way(leaf.position) if leaf is not None and leaf.position >= 0 else ()
    held = way[-1] if way else None
    graphs = grown.leaf[-1] == GRAPH
    things = survey.held.get(grown.leaf[:-1]) if graphs else leaf
    return Growth(
        path=grown.path,
        kind=holder_kind(grown.leaf, way),
        what=leaf.what if leaf is not None else "objects",
        count=things.count if things is not None else grown.now.count,
        count_per_step=grown.things,
        bytes_per_step=grown.rate,
        bytes=float(grown.now.bytes),
        example="" if graphs else example(held),
        limit=_limit(way),
        lines=growing_lines(last_name(grown.path)),
    )


def grown_unreached(looks: Looks, at_least: float) -> list[Growth]:
    """Name who holds tensors that are new at each look and that no name reaches."""
    first, middle, last = looks
    early = middle.unreached.keys() - first.unreached.keys()
    late = last.unreached.keys() - middle.unreached.keys() - first.unreached.keys()
    size = sum(last.unreached[each] for each in late)
    rate = size / (last.step - middle.step)
    if not early or rate < at_least:
        return []
    largest = max(late, key=last.unreached.__getitem__)
    tensor = next((each for each in gc.get_objects() if id(each) == largest), None)
    if tensor is None or kind_of(type(tensor)) != "tensor":
        return []
    path, way = climbed(tensor)
    kept = (early & last.unreached.keys()) | late
    steps = last.step - first.step
    return [
        Growth(
            path=path if path[0] in (GARBAGE, OUTSIDE) else path[:-1],
            kind=holder_kind(path, way),
            what="tensor",
            count=len(kept),
            count_per_step=len(kept) / steps,
            bytes_per_step=rate,
            bytes=float(sum(last.unreached[each] for each in kept)),
            example=example(tensor),
        )
    ]


def holder_kind(path: Path, way: tuple[Any, ...]) -> HolderKind:
    """Tell what kind of thing holds, by its name or by what lies on the way."""
    if path[0] in (GARBAGE, OUTSIDE):
        return "garbage" if path[0] == GARBAGE else "unknown"
    if len(path) > 1 and not path[0] and _is_notebooks(path[1]):
        return "notebook"
    if any("_hooks" in label for label in path):
        return "hook"
    for kind, of in _HOLDERS:
        if any(issubclass(type(each), of) for each in way):
            return kind
    if any(">." in label for label in path):
        return "closure"
    return "collection" if MANY in path else "variable"


_CACHE = type(functools.lru_cache(len))

_HOLDERS: tuple[tuple[HolderKind, type], ...] = (
    ("traceback", types.TracebackType),
    ("cache", _CACHE),
    ("queue", queue.Queue),
    ("dataset", torch.utils.data.Dataset),
    ("optimizer", torch.optim.Optimizer),
)
"""Types that tell by themselves why something is kept."""


def _is_notebooks(label: str) -> bool:
    """Tell whether IPython itself keeps it: the values of cells."""
    name = label.removeprefix(".")
    return name in ("Out", "_oh", "_", "__", "___") or (
        name.startswith("_") and name[1:].isdigit()
    )


def example(held: Any) -> str:
    """Describe one thing that is held: its dtype and shape, or its type."""
    kind = kind_of(type(held))
    if kind == "tensor":
        shape = tuple(torch.Tensor.size(held))
        return f"{str(held.dtype).removeprefix('torch.')} {shape}"
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
