"""Hears of clipping: gradients are measured before it, and what it found is noted."""

from collections.abc import Sequence
from typing import Any

import torch

from ftlab.probes.adapter_work import AdapterWork
from ftlab.probes.clip import begin_clip, end_clip


class ClipWork(AdapterWork):
    """What a loop hears of clipping; a part of `ftlab.probes.loop.Loop`."""

    def __init__(self) -> None:
        super().__init__()
        self._clip: dict[str, Any] | None = None

    def _claim(self) -> None:
        """Count backwards that changed no gradient, now that an update follows."""
        raise NotImplementedError

    def before_clip(self, parameters: Sequence[torch.Tensor], how: Any) -> None:
        """Measure the gradients while they are still whole."""
        covered = len({id(each) for each in parameters} & self._steps.watched.members)
        self._clip = None
        if not covered:
            return
        self._claim()
        step = self._steps.now
        if not step.measured:
            self._steps.measure()
        scaled = step.scaler is not None and not step.unscaled
        of = len(self._steps.watched.members)
        self._clip = begin_clip(step, how, count=covered, of=of, scaled=scaled)

    def after_clip(self, total_norm: torch.Tensor | None) -> None:
        """Note the norm that torch found."""
        entry, self._clip = self._clip, None
        if entry is not None:
            end_clip(self._steps.now, entry, total_norm)
            self._steps.explain()
