"""How an adapter's base weights stand to its delta, and to those it was trained on."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHARP = 0.1
"""A slope counts when chance alone moves it by no more than this."""

NEAR = 0.15
"""How far from 1 slopes may lie; or 2 deviations."""

SHARE = 0.8
"""Share of the slopes that must lie there."""

LEAST = 2
"""Modules that must count: one may lie anywhere by chance."""


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


def in_between(start: Mapping[str, Any]) -> list[str]:
    """Name adapters whose slopes are certain, and neither 0 nor 1."""
    merged = {each.adapter for each in merged_already(start)}
    found = []
    for adapter, row in (start.get("delta_in_base") or {}).items():
        pairs = zip(row["slope"], row["sigma"], strict=True)
        sharp = [slope for slope, sigma in pairs if sigma <= SHARP]
        if sharp and statistics.median(sharp) > 2 * NEAR and adapter not in merged:
            found.append(adapter)
    return found


def _judge(
    adapter: str, modules: Sequence[str], slopes: Sequence[float], sigmas: Any
) -> InBase | None:
    rows = list(zip(modules, slopes, sigmas, strict=True))
    sharp = [row for row in rows if row[2] <= SHARP]
    hit = [row for row in sharp if abs(row[1] - 1) <= max(NEAR, 2 * row[2])]
    if len(hit) < max(SHARE * len(sharp), LEAST):
        return None
    slope = statistics.median(row[1] for row in hit)
    sigma = statistics.median(row[2] for row in hit)
    return InBase(adapter, tuple(row[0] for row in hit), len(sharp), slope, sigma)
