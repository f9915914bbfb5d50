"""Hears of clipping: gradients are measured before it, and what it found is noted."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ftlab.probes.adapter.adapter_work import AdapterWork
from ftlab.probes.stepping.clip import begin_clip, end_clip, note_idle_clip, read_beyond


class ClipWork(AdapterWork):
    """What a loop hears of clipping; a part of `ftlab.probes.stepping.loop.Loop`."""

    def __init__(self) -> None:
        super().__init__()
        self._clip: dict[str, Any] | None = None

    def _claim(self) -> None:
        """Count backwards that changed no gradient, now that an update follows."""
        raise NotImplementedError

    def _are_scaled(self, parameters: Iterable[torch.Tensor]) -> bool:
        """Tell whether a gradient of these is still multiplied by the loss scale."""
        raise NotImplementedError

    def before_clip(self, parameters: Sequence[torch.Tensor], how: Any) -> None:
        """Measure the gradients while they are still whole."""
        members = self._steps.watched.members
        mine = {id(each) for each in parameters} & members
        counts = {"count": len(mine), "of": len(members)}
        self._clip = None
        if not mine:
            if members and not any(map(_has_gradient, parameters)):
                note_idle_clip(self._steps.now, how, given=len(parameters), **counts)
            return
        self._claim()
        step = self._steps.now
        if not step.measured:
            self._steps.measure()
        scaled = self._are_scaled([each for each in parameters if id(each) in mine])
        self._clip = begin_clip(step, how, scaled=scaled, **counts)
        step.clip, step.clipped = self._clip, step.clipped | mine
        if how.kind == "value":
            read_beyond(step, self._clip, [*filter(_has_gradient, parameters)])

    def after_clip(self, total_norm: torch.Tensor | None) -> None:
        """Note the norm that torch found."""
        entry, self._clip = self._clip, None
        if entry is not None:
            end_clip(self._steps.now, entry, total_norm)
            self._steps.explain()


def _has_gradient(parameter: Any) -> bool:
    """Tell so of a leaf: torch warns where another tensor is asked."""
    return getattr(parameter, "is_leaf", False) and parameter.grad is not None
