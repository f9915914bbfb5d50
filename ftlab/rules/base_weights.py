"""How an adapter's base weights stand to its delta, and to those it was trained on."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHARP = 0.1
"""A slope counts when chance alone moves it by no more than this."""

NEAR = 0.15
"""How far from 1 (or from their common value) slopes may lie; or 3 deviations."""

SHARE = 0.8
"""Share of the slopes that must lie there."""

LEAST = 0.25
"""Slopes nearer to 0 are no merged delta, whatever it was scaled with."""


@dataclass(frozen=True, slots=True)
class InBase:
    """An adapter whose delta is in its base weights.

    Attributes
    ----------
    modules
        Where it is, of ``measured`` modules.
    slope
        How many times: the median over the modules.
    """

    adapter: str
    modules: tuple[str, ...]
    measured: int
    slope: float
    sigma: float


def merged_already(start: Mapping[str, Any]) -> Iterator[InBase]:
    """Yield adapters whose delta is found in most of their base weights."""
    for adapter, row in (start.get("delta_in_base") or {}).items():
        found = _judge(adapter, row["modules"], row["slope"], row["sigma"])
        if found is not None:
            yield found


def too_small(start: Mapping[str, Any]) -> list[str]:
    """Name adapters whose delta is too small to tell whether the base has it."""
    return [
        adapter
        for adapter, row in (start.get("delta_in_base") or {}).items()
        if not any(sigma <= SHARP for sigma in row["sigma"])
    ]


def _judge(
    adapter: str, modules: Sequence[str], slopes: Sequence[float], sigmas: Any
) -> InBase | None:
    rows = list(zip(modules, slopes, sigmas, strict=True))
    sharp = [row for row in rows if row[2] <= SHARP]
    if not sharp:
        return None
    middle = statistics.median(row[1] for row in sharp)
    once = abs(middle - 1) <= NEAR
    # One layer, or two, may be anywhere by chance; 1 itself is a likelier place.
    if middle < LEAST or len(sharp) < (2 if once else 4):
        return None
    goal = 1.0 if once else middle
    hit = [r for r in sharp if abs(r[1] - goal) <= max(NEAR * goal, 3 * r[2])]
    if len(hit) < SHARE * len(sharp) or len(hit) < 2:
        return None
    sigma = statistics.median(row[2] for row in hit)
    return InBase(adapter, tuple(row[0] for row in hit), len(sharp), middle, sigma)
