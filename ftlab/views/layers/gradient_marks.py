"""Marks beside the gradient heatmap: layers whose gradient stands out now.

They point at where to look. Findings come from rules, which have thresholds with a
source; these marks are what people use by habit.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.views.style import DECAY, WEAK, WEAK_STEPS, number


@dataclass(frozen=True, slots=True)
class Mark:
    """A layer whose gradient stands out; a mark, not a finding.

    Attributes
    ----------
    kind
        ``"weak"`` or ``"decay"``.
    value
        The last norm, or the share of the next layer's norm: small is remarkable.
    """

    layer: str
    kind: str
    value: float
    text: str


def marks(layers: Sequence[str], norms: NDArray[np.float32]) -> tuple[Mark, ...]:
    """Return the marks of the last columns, at most one of each kind per layer.

    Parameters
    ----------
    norms
        Layer norms of the last columns, shape ``(columns, layers)``.
    """
    found = []
    recent = norms[-WEAK_STEPS:]
    weak = ((recent >= 0) & (recent < WEAK)).all(0) & (len(recent) == WEAK_STEPS)
    for index in np.flatnonzero(weak).tolist():
        text = f"is below {WEAK:g} for {WEAK_STEPS} columns"
        found.append(Mark(layers[index], "weak", float(recent[-1, index]), text))
    pairs = _neighbours(layers)
    here, deeper = (norms[:, [pair[side] for pair in pairs]] for side in (0, 1))
    usable = np.isfinite(here) & np.isfinite(deeper) & (here > 0) & (deeper > 0)
    ratios = np.where(usable, here, np.nan) / np.where(usable, deeper, np.nan)
    some = usable.any(0)
    medians = np.full(len(pairs), np.nan)
    medians[some] = np.nanmedian(ratios[:, some], axis=0)
    for at in np.flatnonzero(medians < DECAY).tolist():
        index, other = pairs[at]
        ratio = float(medians[at])
        text = f"is {number(ratio)} of {layers[other]} (mark: below {DECAY:g})"
        found.append(Mark(layers[index], "decay", ratio, text))
    return tuple(found)


def _neighbours(layers: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs (block, next deeper block) of the same stack."""
    numbered = {}
    for index, layer in enumerate(layers):
        match = re.fullmatch(r"(.*?)(\d+)", layer)
        if match:
            numbered[(match[1], int(match[2]))] = index
    return [
        (index, numbered[(stack, block + 1)])
        for (stack, block), index in numbered.items()
        if (stack, block + 1) in numbered
    ]
