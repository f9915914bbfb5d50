"""How near each operation of a trace has come to values that are no numbers."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ftlab.records.trace import Trace, TracedOp

GRADES = ("ok", "large", "near overflow", "non-finite")
"""From normal to bad; an operation has the index of one."""
BAD = GRADES.index("non-finite")
METERS = (".", "##", "###", "####")
"""The grades as they grow in a text."""
LARGE = 1e3
"""Magnitudes above it are called large, as in the chain of a debugger's report."""
NEAR = 1 / 8
"""Share of what a dtype can hold above which an overflow is near."""
MASK = 0.99
"""A smallest value below this share of the dtype's end is that of a mask."""
LARGEST = {
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}
"""The largest number of each dtype."""


class Grades:
    """The grade and the magnitude of each operation of a trace.

    An infinity that never reached the loss or a gradient is a mask's: it has no grade.

    Parameters
    ----------
    trace
        The step.

    Examples
    --------
    >>> from ftlab.records.trace import Trace, TracedOp
    >>> from ftlab.views.replay.grades import GRADES, Grades
    >>> halves = [(1.0, 2.0), (0.0, 4e3), (0.0, 6e4)]
    >>> ops = [
    ...     TracedOp(i, "aten.mul", dtype="float16", low=low, high=high)
    ...     for i, (low, high) in enumerate(halves)
    ... ]
    >>> [GRADES[each] for each in Grades(Trace(0, 0, tuple(ops))).of]
    ['ok', 'large', 'near overflow']
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def of(self) -> NDArray[np.int8]:
        """The grade of each operation, an index of `GRADES`."""
        bad = self._bad()
        found = [BAD if bad[op.index] else _finite_grade(op) for op in self._trace.ops]
        return np.array(found, np.int8)

    @cached_property
    def magnitude(self) -> NDArray[np.float64]:
        """The largest magnitude that each has made; infinite where it is bad.

        NaN where there is none: for views, whole numbers and masks.
        """
        pairs = zip(self._trace.ops, self.of, strict=True)
        return np.array([math.inf if g == BAD else _magnitude(op) for op, g in pairs])

    @cached_property
    def score(self) -> NDArray[np.float64]:
        """Orders operations by grade, and within a grade by magnitude."""
        with np.errstate(all="ignore"):
            decades = np.clip(np.log10(self.magnitude), -400, 400)
        decades = np.where(np.isnan(decades), -500, decades)
        return self.of * 1e4 + decades

    def worst(self, indices: NDArray[np.int64]) -> int:
        """Return the first of the worst among ``indices``; -1 if there are none."""
        return int(indices[np.argmax(self.score[indices])]) if len(indices) else -1

    def _bad(self) -> Sequence[bool]:
        """Say of each operation whether it is non-finite on account of the culprit."""
        culprit = self._trace.culprit
        bad: list[bool] = []
        for op in self._trace.ops:
            follows = any(bad[parent] for parent in op.parents if parent >= 0)
            unasked = op.nans != 0 or op.high == math.inf
            caused = op.index == culprit or follows or unasked
            comes_after = culprit < 0 or op.index >= culprit
            bad.append(op.non_finite and comes_after and caused)
        return bad


def _limit(op: TracedOp) -> float:
    return LARGEST.get(op.dtype, math.inf)


def _magnitude(op: TracedOp) -> float:
    if op.low is None or op.high is None or op.making or "float" not in op.dtype:
        return math.nan
    ends = [op.high] if op.low <= -MASK * _limit(op) else [op.low, op.high]
    finite = [abs(end) for end in ends if math.isfinite(end)]
    masked = op.high <= -MASK * _limit(op)
    return math.nan if masked else max(finite, default=math.nan)


def _finite_grade(op: TracedOp) -> int:
    magnitude = _magnitude(op)
    if magnitude > NEAR * _limit(op):
        return 2
    return int(magnitude > LARGE)
