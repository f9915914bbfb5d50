"""What the weights are between two updates: in an evaluation, and at the next update.

A few elements of a few trained tensors are kept after each update. Nobody else writes
to weights in a plain loop. What writes: an average that is put in for an evaluation and
taken out again, or not; copies that are put back; clipping and projections.
"""

import weakref
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.optimizer.put_back import trained_tensors
from ftlab.probes.probe import Moment, Probe, Reading, Result, Tensors
from ftlab.probes.tensors.base_sample import spread

TENSORS = 3
"""Tensors that are sampled, spread over the model: at every step, so few of them."""

VALUES = 128
"""Elements of each."""


class _Place(NamedTuple):
    """Where the elements of one tensor are, at odd distances."""

    tensor: "weakref.ref[torch.Tensor]"
    elements: int
    distance: int

    @classmethod
    def of(cls, tensor: torch.Tensor) -> "_Place":
        """Spread the elements over rows and columns alike."""
        elements = tensor.numel()
        return cls(weakref.ref(tensor), elements, -(-elements // VALUES) | 1)

    def read(self) -> torch.Tensor | None:
        """View them; ``None`` where the tensor has gone or is another one now."""
        tensor, distance = self.tensor(), self.distance
        if tensor is None or tensor.numel() != self.elements:
            return None
        if not tensor.is_contiguous():
            return None
        return tensor.detach().as_strided((-(-self.elements // distance),), (distance,))


class BetweenUpdates(Probe):
    """Tell what has become of the weights since the last update."""

    def __init__(self) -> None:
        self._tensors: Tensors | None = None
        self._choose(())

    def _choose(self, tensors: Iterable[torch.Tensor]) -> None:
        """Begin anew with these tensors."""
        self._places = [_Place.of(each) for each in tensors]
        self._first: torch.Tensor | None = None
        self._begun: torch.Tensor | None = None
        self._after: torch.Tensor | None = None
        self._evaluated: torch.Tensor | None = None

    def after_light_steps(self) -> None:
        """Forget what was left by an update that others have followed."""
        self._after = self._evaluated = None

    def on_evaluation(self, moment: Moment) -> Iterable[Reading]:
        """Keep the weights that an evaluation begins with."""
        if self._after is not None:
            self._evaluated = self._sample()
        return ()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Compare with what the last update and an evaluation have left."""
        if moment.tensors is not self._tensors:
            self._tensors = moment.tensors
            self._choose(_some(moment))
        now = self._sample()
        if self._first is not None and self._after is None:
            return ()
        after, seen = self._after, self._evaluated
        self._after = self._evaluated = None
        if now is None or self._first is None or self._begun is None:
            self._first = self._begun = now
            return ()
        found = None
        if after is not None and after.shape == now.shape == self._first.shape:
            found = _compared(now, after, self._first, self._begun, seen)
        if seen is not None:
            self._begun = now
        return () if found is None else (found,)

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Keep what the update has left."""
        if self._first is not None:
            self._after = self._sample()
        return ()

    def _sample(self) -> torch.Tensor | None:
        parts = [part for each in self._places if (part := each.read()) is not None]
        whole = parts and len(parts) == len(self._places)
        return torch.cat(parts) if whole else None


def _some(moment: Moment) -> list[torch.Tensor]:
    """Choose a few of the tensors that optimizers hold."""
    held = {id(each) for each in trained_tensors(moment.subject)}
    pairs = zip(moment.tensors.names, moment.tensors.parameters, strict=True)
    trained = {name: tensor for name, tensor in pairs if id(tensor) in held}
    chosen = [trained[name] for name in spread(list(trained), TENSORS)]
    return [each for each in chosen if each.device == chosen[0].device]


def _compared(
    now: torch.Tensor,
    after: torch.Tensor,
    first: torch.Tensor,
    begun: torch.Tensor,
    seen: torch.Tensor | None,
) -> Reading:
    """Queue whether weights were written to, and what an evaluation has left."""
    written = (now != after).any()
    values = [written, (now == first).all()]
    if seen is not None:
        way = (after - begun).float()
        undone = 1 - ((seen - begun).float() @ way) / (way @ way)
        values += [written & (now == seen).all(), undone]

    def finish(values: NDArray[np.float32]) -> Iterator[Result]:
        found = {"weights_written": float(values[0]), "back_at_first": float(values[1])}
        if len(values) > 2:
            left = values[2] > 0 and np.isfinite(values[3])
            found["left_by_evaluation"] = float(values[3]) if left else 0.0
        yield found

    return Reading(torch.stack(values).float(), finish)
