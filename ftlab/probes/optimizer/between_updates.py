"""What the weights are between two updates: in an evaluation, and at the next update.

A few elements of a few trained tensors are kept after each update. Nobody else writes
to weights in a plain loop. What writes: an average that is put in for an evaluation and
taken out again, or not; copies that are put back; clipping and projections.
"""

import weakref
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.optimizer.put_back import trained_tensors
from ftlab.probes.probe import Moment, Probe, Reading, Result, Tensors
from ftlab.probes.tensors.base_sample import spread
from ftlab.probes.tensors.host import as_array, as_tensor

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

    def read(self) -> Any:
        """View them; ``None`` where the tensor has gone or is another one now.

        An array where they lie on the CPU: this is done twice in each step.
        """
        tensor, distance = self.tensor(), self.distance
        if tensor is None or tensor.numel() != self.elements:
            return None
        if not tensor.is_contiguous():
            return None
        return as_array(tensor.detach()).reshape(-1)[::distance]


class BetweenUpdates(Probe):
    """Tell what has become of the weights since the last update."""

    def __init__(self) -> None:
        self._tensors: Tensors | None = None
        self._choose(())

    def _choose(self, tensors: Iterable[torch.Tensor]) -> None:
        """Begin anew with these tensors."""
        self._places = [_Place.of(each) for each in tensors]
        self._first: Any = None
        self._begun: Any = None
        self._after: Any = None
        self._evaluated: Any = None

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
        if _kind(after) == _kind(now) == _kind(self._first):
            with np.errstate(all="ignore"):
                found = _compared(now, after, self._first, self._begun, seen)
        if seen is not None:
            self._begun = now
        return () if found is None else (found,)

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Keep what the update has left."""
        if self._first is not None:
            self._after = self._sample()
        return ()

    def _sample(self) -> Any:
        parts = [part for each in self._places if (part := each.read()) is not None]
        if not parts or len(parts) < len(self._places):
            return None
        if all(isinstance(each, np.ndarray) for each in parts):
            return np.concatenate(parts)
        return torch.cat([as_tensor(each) for each in parts])


def _some(moment: Moment) -> list[torch.Tensor]:
    """Choose a few of the tensors that optimizers hold."""
    held = {id(each) for each in trained_tensors(moment.subject)}
    pairs = zip(moment.tensors.names, moment.tensors.parameters, strict=True)
    trained = {name: tensor for name, tensor in pairs if id(tensor) in held}
    chosen = [trained[name] for name in spread(list(trained), TENSORS)]
    return [each for each in chosen if each.device == chosen[0].device]


def _compared(now: Any, after: Any, first: Any, begun: Any, seen: Any) -> Reading:
    """Queue whether weights were written to, and what an evaluation has left."""
    written = (now != after).any()
    values = [written, (now == first).all()]
    if seen is not None:
        way = _floats(after - begun)
        undone = 1 - (_floats(seen - begun) @ way) / (way @ way)
        values += [written & (now == seen).all(), undone]

    def finish(values: NDArray[np.float32]) -> Iterator[Result]:
        found = {"weights_written": float(values[0]), "back_at_first": float(values[1])}
        if len(values) > 2:
            left = values[2] > 0 and np.isfinite(values[3])
            found["left_by_evaluation"] = float(values[3]) if left else 0.0
        yield found

    if isinstance(now, np.ndarray):
        return Reading(torch.from_numpy(np.array(values, np.float32)), finish)
    return Reading(torch.stack(values).float(), finish)


def _kind(sample: Any) -> Any:
    return type(sample), getattr(sample, "shape", None)


def _floats(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return values.astype(np.float32)
    return values.float()
