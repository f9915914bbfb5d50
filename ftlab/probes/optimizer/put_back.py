"""Whether an update is still there when the next one is made.

Each tensor is summed before an update, after it, and before the next one, on due steps.
Whole tensors and not samples of them: loops that train a few rows of an embedding put
all others back at each step, on purpose.
"""

import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading, Result
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject


@dataclass(slots=True)
class _Update:
    """One update: its tensors, and their sums before and after it."""

    step: int
    tensors: tuple["weakref.ref[torch.Tensor]", ...]
    before: torch.Tensor
    after: torch.Tensor | None = None

    def now(self) -> torch.Tensor | None:
        """Sum the tensors again; ``None`` where one of them is gone."""
        alive = [tensor for each in self.tensors if (tensor := each()) is not None]
        return _sums(alive) if len(alive) == len(self.tensors) else None


class PutBack(Probe):
    """Count the tensors that a due update changed, and those that were put back.

    Parameters
    ----------
    interval
        Steps between two updates that are looked at: all weights are read three times.
    """

    light = False

    def __init__(self, interval: int = 64) -> None:
        self._is_time = every(interval)
        self._update: _Update | None = None

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Compare with the update before, and look at this one where it is due."""
        update, self._update = self._update, None
        found = None if update is None else self._compare(update, moment.step)
        if self._is_time(moment.step):
            tensors = trained_tensors(moment.subject)
            if tensors:
                held = tuple(weakref.ref(each) for each in tensors)
                self._update = _Update(moment.step, held, _sums(tensors))
        return () if found is None else (found,)

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Sum once more."""
        if self._update is not None and self._update.step == moment.step:
            self._update.after = self._update.now()
        return ()

    def _compare(self, update: _Update, step: int) -> Reading | None:
        now = update.now() if step == update.step + 1 else None
        if update.after is None or now is None:
            return None
        changed = update.after != update.before
        counts = torch.stack((changed, changed & (now == update.before))).sum(1)

        def finish(values: NDArray[np.float32]) -> Iterator[Result]:
            names = ("updates_compared", "updates_put_back")
            yield dict(zip(names, values.tolist(), strict=True))

        return Reading(counts.float(), finish)


def trained_tensors(subject: Subject) -> list[torch.Tensor]:
    """List what optimizers hold, as far as it is whole and has values."""
    held = {
        id(each): each
        for optimizer in subject.optimizers
        for group in optimizer.param_groups
        for each in group["params"]
        if each.requires_grad and _is_whole(each)
    }
    return list(held.values())


def _is_whole(tensor: torch.Tensor) -> bool:
    plain = type(tensor.data) is torch.Tensor and tensor.layout is torch.strided
    return plain and tensor.device.type not in ("meta", "mps") and tensor.numel() > 0


def _sums(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Sum each tensor in float64, where one changed row of many still shows."""
    device = tensors[0].device
    sums = [each.detach().sum(dtype=torch.float64) for each in tensors]
    return torch.stack([each.to(device, non_blocking=True) for each in sums])
