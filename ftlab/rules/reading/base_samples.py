"""Two samples of base weights against each other, of `tensors.base_sample`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TOLERANCE = {("float32", "float32"): 0.0, ("float64", "float64"): 0.0}
"""Relative difference between equal weights, by their dtypes; else `ROUNDED`."""

ROUNDED = 1 / 64
"""Twice the distance of two neighbours in bfloat16, relative to the larger one."""

ALLOWED = 1
"""Values of one weight that may differ: a rounding may fall on the other side."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What comparing two samples gave.

    Attributes
    ----------
    weights
        Weights that are in both.
    different
        Names, as they are now, of those that are not the same.
    largest
        The largest difference of two values, relative to the weight's largest value.
    tolerance
        What differences were compared with.
    """

    weights: int
    different: tuple[str, ...]
    largest: float
    tolerance: float


def compare(
    before: Mapping[str, Any], now: Mapping[str, Any], least: float = 0.0
) -> Compared | None:
    """Compare two samples; ``None`` where they have no weight in common.

    Parameters
    ----------
    before, now
        Samples by name of the weight.
    least
        Relative difference that is allowed in any case.
    """
    known = {bare_name(name): row for name, row in before.items()}
    pairs = [
        (name, known[bare_name(name)], row)
        for name, row in now.items()
        if bare_name(name) in known
    ]
    if not pairs:
        return None
    different, largest, tolerance = [], 0.0, least
    for name, old, new in pairs:
        allowed = max(least, _tolerance(old["dtype"], new["dtype"]))
        tolerance = max(tolerance, allowed)
        gaps = _gaps(old, new)
        largest = max(largest, *gaps)
        if sum(gap > allowed for gap in gaps) > (ALLOWED if allowed else 0):
            different.append(name)
    return Compared(len(pairs), tuple(different), largest, tolerance)


def bare_name(name: str) -> str:
    """Drop what PEFT puts around and into a name.

    Examples
    --------
    >>> from ftlab.rules.reading.base_samples import bare_name
    >>> bare_name("base_model.model.model.layers.0.q_proj.base_layer.weight")
    'model.layers.0.q_proj.weight'
    """
    while name.startswith("base_model.model."):
        name = name.removeprefix("base_model.model.")
    return name.replace(".base_layer.", ".")


def _tolerance(old: str, new: str) -> float:
    return 0.0 if old == new else TOLERANCE.get((old, new), ROUNDED)


def _gaps(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[float]:
    if list(old["shape"]) != list(new["shape"]):
        return [1.0, 1.0]
    scale = max((abs(value) for value in old["values"]), default=0.0) or 1.0
    both = zip(old["values"], new["values"], strict=False)
    return [abs(a - b) / scale for a, b in both] or [0.0]
