"""Whether memory in use keeps growing, told from what batches of other sizes need."""

from collections import deque

import numpy as np

WINDOW = 8
"""Samples that a trend is read from."""

LOW = 0.25
"""Quantile of the growth from one sample to the next that counts.

Our own records are taken in jumps: most steps of a healthy run add 3 to 7 KiB, one in
six some hundred.
"""

LEAST = 8192
"""Bytes per step from which it is looked who holds them.

Measured: our own records of a watched Llama of 3 or 24 layers take 5 KiB a step; a loop
that keeps the output of one small layer, 32 KiB.
"""

RELEVANT = 1e-5
"""Growth per step, as a share of what is in use, from which it matters: 1 % in 1,000
steps."""


class Trend:
    """The latest samples, and the growth per step that they show.

    Examples
    --------
    >>> from ftlab.probes.holding.trend import Trend
    >>> trend = Trend()
    >>> for step in range(10):
    ...     trend.add(step, 1e6 + 2**14 * step, 64, 64)
    >>> round(trend.rate())
    16384
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, ...]] = deque(maxlen=WINDOW)

    def add(self, step: int, used: float, elements: int, before: int) -> None:
        """Take what was in use before a step; the oldest of a full window goes.

        Parameters
        ----------
        elements, before
            Of the batch that comes, and of the one before: a loop may keep its outputs.
        """
        self._samples.append((step, used, elements, before))

    def apart(self) -> int:
        """Return the steps from one sample to the next."""
        steps = [each[0] for each in self._samples]
        return int(max(np.diff(steps), default=0))

    def rate(self) -> float:
        """Return the bytes per step by which it surely grows, 0 where it may not."""
        if len(self._samples) < WINDOW:
            return 0.0
        samples = np.array(self._samples, np.float64)
        steps, values, sizes = samples[:, 0], samples[:, 1], samples[:, 2:]
        varied = sizes[:, sizes.std(0) > 0]
        others = varied - varied.mean(0)
        table = np.column_stack([np.ones(WINDOW), steps - steps.mean(), others])
        fit = np.linalg.lstsq(table, values, rcond=None)[0]
        alike = values - others @ fit[2:]  # as if all batches had the same size
        rate = float(np.quantile(np.diff(alike) / np.diff(steps), LOW))
        return rate if rate > max(LEAST, RELEVANT * float(values.mean())) else 0.0
