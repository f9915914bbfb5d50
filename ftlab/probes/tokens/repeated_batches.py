"""Whether each batch comes several times in a row: once from each worker."""

import gc
import weakref
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

STREAKS = 3
"""Batches that must each have come as often as there are workers."""


class RepeatedBatches:
    """Follows batches by a few numbers of each of their rows.

    A loop may use each batch several times on purpose. What comes from workers are
    tensors of their own each time, and there are as many as the loader has workers.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.tokens.repeated_batches import RepeatedBatches
    >>> seen = RepeatedBatches()
    >>> for number in (1, 1, 2, 2, 3, 3, 4):
    ...     streak = seen.add(np.array([number]), same=False)
    >>> streak
    2
    """

    def __init__(self) -> None:
        self._last: NDArray[Any] | None = None
        self._streak = 0
        self._first = 0
        self._streaks = 0
        self._over = False

    def add(self, values: NDArray[Any], *, same: bool) -> int:
        """See one more batch; returns how often each of the first ones came, once.

        Parameters
        ----------
        values
            Numbers that are the same for the same batch.
        same
            Whether it is the very tensor of the batch before.
        """
        if self._over or not len(values):
            return 0
        if self._last is not None and np.array_equal(values, self._last):
            self._streak += 1
            self._over = same
            return 0
        ended, self._streak, self._last = self._streak, 1, values
        if not ended:
            return 0
        self._first = self._first or ended
        self._streaks += 1
        self._over = ended != self._first or ended == 1 or self._streaks == STREAKS
        return ended if self._streaks == STREAKS and ended == self._first > 1 else 0


class SameTensor:
    """Tells whether a tensor is the one that was seen before it."""

    def __init__(self) -> None:
        self._last: weakref.ref[torch.Tensor] | None = None

    def __call__(self, tensor: torch.Tensor | None) -> bool:
        """Compare, and remember the new one."""
        before = None if self._last is None else self._last()
        self._last = None if tensor is None else weakref.ref(tensor)
        return tensor is not None and before is tensor


def stream_of(workers: int) -> str:
    """Name the dataset that a loader with so many workers streams; ``""`` if none.

    Looks through all live objects: to be called once in a run.
    """
    for each in gc.get_objects():
        if not issubclass(type(each), torch.utils.data.DataLoader):
            continue
        dataset = getattr(each, "dataset", None)
        streams = isinstance(dataset, torch.utils.data.IterableDataset)
        if streams and getattr(each, "num_workers", 0) == workers:
            inner = getattr(dataset, "dataset", dataset)
            return type(inner).__name__
    return ""
