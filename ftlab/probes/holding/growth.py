"""What has grown between three looks: the holders of a leak, by their names."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ftlab.probes.holding.look import Held, Looks
from ftlab.records.holding import GRAPH, MANY, Path

MOST = 0.8
"""Share of a growth that one branch must have for the holder to be on it."""

ALIKE = 1.2
"""Factor by which something that follows the batches may grow beyond them."""

AT_LEAST = 0.1
"""Share of all growth from which a holder is told."""


@dataclass(frozen=True, slots=True)
class Grown:
    """A path and how its bytes and things have grown.

    Attributes
    ----------
    path
        The deepest place that has most of the growth.
    rate, things
        Bytes and things per step.
    now
        All that lies there or below.
    leaf
        The path below it that has grown most.
    """

    path: Path
    rate: float
    things: float
    now: Held
    leaf: Path


def grown(looks: Looks, at_least: float) -> list[Grown]:
    """Return what grew in both intervals, the fastest first.

    Parameters
    ----------
    looks
        Three surveys with their steps.
    at_least
        Bytes per step from which growth counts.
    """
    trees = [_sums(each.held) for each in looks]
    steps = [each.step for each in looks]
    rates, things = _rates(trees, steps)
    own, _ = _rates([each.held for each in looks], steps)
    inner: dict[Path, list[Path]] = defaultdict(list)
    for path in rates:
        inner[path[:-1]].append(path)
    found: list[Grown] = []
    taken: list[Path] = []
    for root in sorted(inner[()], key=rates.__getitem__, reverse=True):
        for path in _holders(rates, inner, root, at_least):
            if any(path[: len(each)] == each for each in taken):
                continue
            if things[path] <= 0 and _is_the_batch(path, trees, looks):
                continue
            taken.append(path)
            below = (each for each in own if each[: len(path)] == path)
            leaf = max(below, key=own.__getitem__, default=path)
            now = trees[-1][path]
            found.append(Grown(path, rates[path], things[path], now, leaf))
    found.sort(key=lambda each: -each.rate)
    whole = sum(each.rate for each in found)
    return [each for each in found if each.rate >= AT_LEAST * whole]


def _is_the_batch(
    path: Path, trees: Sequence[Mapping[Path, Held]], looks: Looks
) -> bool:
    """Tell whether it is only as much larger as the batches have become."""
    first, last = looks[0].elements, looks[-1].elements
    before, now = trees[0].get(path, Held()).bytes, trees[-1][path].bytes
    return first < last and now * first <= ALIKE * before * last


def _holders(
    rates: Mapping[Path, float],
    inner: Mapping[Path, Sequence[Path]],
    root: Path,
    at_least: float,
) -> Iterator[Path]:
    """Yield the deepest paths below ``root`` that each have a growth of their own."""
    below = [path for path in inner.get(root, ()) if rates[path] >= at_least]
    own = rates[root] - sum(rates[path] for path in below)
    if rates[root] >= at_least and own > (1 - MOST) * rates[root]:
        yield root  # it grows by many small branches, or by itself
        return
    for path in below:
        if path[-1] in (MANY, GRAPH):
            yield root
            return
        yield from _holders(rates, inner, path, at_least)


def _sums(held: Mapping[Path, Held]) -> dict[Path, Held]:
    """Add up what lies at each path and below it."""
    found: dict[Path, Held] = {}
    for path, each in held.items():
        for end in range(1, len(path) + 1):
            above = found.setdefault(path[:end], Held())
            above.bytes += each.bytes
            above.count += each.count
    return found


def _rates(
    trees: Sequence[Mapping[Path, Held]], steps: Sequence[int]
) -> tuple[dict[Path, float], dict[Path, float]]:
    """Return by path the bytes and the things per step, of the slower interval."""
    first, middle, last = trees
    early, late = steps[1] - steps[0], steps[2] - steps[1]
    sizes, counts, nothing = {}, {}, Held()
    for path, c in last.items():
        a, b = first.get(path, nothing), middle.get(path, nothing)
        sizes[path] = min((b.bytes - a.bytes) / early, (c.bytes - b.bytes) / late)
        counts[path] = min((b.count - a.count) / early, (c.count - b.count) / late)
    return sizes, counts
