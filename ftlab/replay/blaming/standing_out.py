"""Which samples of a step, and which of their tokens, stand out by their loss."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.blame import SampleBlame
from ftlab.replay.blaming.pairs import Pairs
from ftlab.replay.stops.spans import Decode


def ranked(
    losses: NDArray[np.float64],
    targets: NDArray[np.int64],
    gradients: NDArray[np.float64],
    decode: Decode | None,
) -> tuple[SampleBlame, ...]:
    """Describe every sample that has a loss, the highest mean first."""
    known = losses[np.isfinite(losses)]
    usual = float(np.median(known)) if known.size else 0.0
    found = []
    for sample, row in enumerate(losses):
        counted = targets[sample] >= 0
        if not counted.any():
            continue
        start, stop = outstanding(np.where(counted, row, -np.inf), usual)
        ids = [int(i) for i in targets[sample, start:stop] if i >= 0]
        text = decode(ids) if decode is not None and ids else ""
        found.append(
            SampleBlame(
                sample,
                float(row[counted].mean()),
                int(counted.sum()),
                float(gradients[sample]),
                start,
                stop,
                float(row[start:stop][counted[start:stop]].mean()),
                text,
            )
        )
    return tuple(sorted(found, key=_badness))


def paired(
    samples: Sequence[SampleBlame], pairs: Sequence[tuple[Pairs, Sequence[float]]]
) -> tuple[SampleBlame, ...]:
    """Say of each sample which answer of which pair it is; the worst pair first."""
    if not pairs:
        return tuple(samples)
    parts, number = {}, 0
    for found, norms in pairs:
        for rows, loss, norm in zip(found.rows, found.losses, norms, strict=True):
            for role, row in zip(found.roles, rows.tolist(), strict=True):
                parts[row] = (number, role, float(loss), norm)
            number += 1
    named = [
        replace(each, pair=pair, role=role, pair_loss=loss, pair_gradient=norm)
        for each in samples
        for pair, role, loss, norm in [parts.get(each.sample, _ALONE)]
    ]
    return tuple(sorted(named, key=_pair_badness))


_ALONE = (-1, "", math.nan, math.nan)


def _pair_badness(each: SampleBlame) -> tuple[bool, float, int, int]:
    return math.isfinite(each.pair_loss), -each.pair_loss, each.pair, each.sample


def _badness(each: SampleBlame) -> tuple[bool, float, int]:
    return not math.isnan(each.loss), -each.loss, each.sample


def outstanding(row: Sequence[float] | Any, usual: float) -> tuple[int, int]:
    """Return the half-open span of ``row`` that stands out most from ``usual``.

    A token counts for it by what its loss is above the middle between ``usual`` and
    the highest loss of the row, and against it by what it is below; -Inf stands for a
    token without a loss. Where losses are NaN or infinite, these are the span.

    Examples
    --------
    >>> from ftlab.replay.blaming.standing_out import outstanding
    >>> outstanding([1.0, 9.0, 8.0, 4.0, 9.0, 1.0, 1.0], usual=1.0)
    (1, 5)
    """
    values = np.asarray(row, dtype=np.float64)
    bad = np.isnan(values) | (values == np.inf)
    if bad.any():
        excess = np.where(bad, 1.0, -np.inf)
    else:
        top = float(values.max())
        cut = (top + min(usual, top)) / 2
        # A gap without a loss is crossed more easily than an ordinary token.
        gap = (min(usual, top) - cut) / 2 - 1e-9
        excess = np.where(values == -np.inf, gap, values - cut)
    best, best_span, total, start = -math.inf, (0, 1), 0.0, 0
    for index, value in enumerate(excess.tolist()):
        if total <= 0:
            total, start = 0.0, index
        total += value
        if total > best:
            best, best_span = total, (start, index + 1)
    return best_span
