"""Adam's moments that were set to 0 while its count of steps was kept.

The bias correction, which makes the first updates of empty moments as large as the
learning rate, goes by that count. A state that nobody else has written to since the
last update is not looked at.
"""

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Reading
from ftlab.probes.torch_private import versions

_SECOND = "exp_avg_sq"

Held = tuple[torch.Tensor, Any]
"""A parameter and the optimizer that holds it."""

_State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A second moment, held weakly, and how often it had been written to."""

    tensor: "weakref.ref[torch.Tensor]"
    version: Any

    @classmethod
    def of(cls, state: _State) -> "_Seen":
        return cls(weakref.ref(state[_SECOND]), versions([state[_SECOND]]))

    def is_of(self, state: _State) -> bool:
        """Tell whether this is what the state still holds."""
        tensor = state[_SECOND]
        return self.tensor() is tensor and self.version == versions([tensor])


class EmptiedMoments:
    """Follows the states of some parameters from one update to the next."""

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}
        self._suspects: list[_State] = []
        self._betas: list[tuple[float, float]] = []
        self._values: torch.Tensor | None = None

    def before(self, held: Iterable[Held]) -> None:
        """Look at the states if somebody has made or written to all of them."""
        self._suspects, self._betas, self._values = [], [], None
        for parameter, optimizer, state in _states(held):
            seen = self._seen.get(id(parameter))
            if seen is not None and seen.is_of(state):
                return  # others may be empty because they never get a gradient
            self._suspects.append(state)
            self._betas += _betas(parameter, optimizer)
        if self._betas and len(self._betas) == len(self._suspects):
            self._values = torch.stack([_largest(each) for each in self._suspects])

    def after(self, held: Iterable[Held]) -> Iterator[Reading]:
        """Tell of states that were empty and have been filled."""
        for parameter, _, state in _states(held):
            self._seen[id(parameter)] = _Seen.of(state)
        if self._values is None:
            return
        device, betas = self._values.device, self._betas
        suspects = self._suspects  # looked at anew as each optimizer of the step steps
        filled = torch.stack([_largest(each) for each in suspects])
        steps = [_count(each).to(device, non_blocking=True) for each in suspects]
        values = torch.cat((self._values, filled, torch.stack(steps)))

        def finish(read: NDArray[np.float32]) -> Iterable[dict[str, float]]:
            empty, full, counts = read.reshape(3, -1)
            if not empty.any() and full.any():
                kept = float(counts.max()) - 1
                excess = max(excess_of(*each, kept) for each in betas)
                yield {"moments_emptied_at": kept, "moments_excess": excess}

        yield Reading(values, finish)


def excess_of(first: float, second: float, steps: float) -> float:
    """Return how many times too large updates become if moments of 0 go on at a step.

    Of a steady gradient, in the worst of the next 256 updates.

    Examples
    --------
    >>> from ftlab.probes.optimizer.emptied_moments import excess_of
    >>> [round(excess_of(0.9, 0.999, steps), 1) for steps in (0, 100, 20000)]
    [1.0, 2.1, 6.6]
    """
    after = np.arange(1, 257)
    moment = (1 - first**after) / (1 - first ** (steps + after))
    root = np.sqrt((1 - second**after) / (1 - second ** (steps + after)))
    return float((moment / root).max())


def _states(held: Iterable[Held]) -> Iterator[tuple[torch.Tensor, Any, _State]]:
    """Yield Adam's states with their parameters and optimizers."""
    for parameter, optimizer in held:
        if isinstance(optimizer, torch.optim.Adam | torch.optim.AdamW):
            # get, not []: the mapping would make an entry, and so change a checkpoint
            state = optimizer.state.get(parameter) or {}
            both = type(state.get(_SECOND)), type(state.get("step"))
            if both == (torch.Tensor, torch.Tensor):
                yield parameter, optimizer, state


def _betas(parameter: torch.Tensor, optimizer: Any) -> list[tuple[float, float]]:
    """Return the factors of averaging; none where the largest moment is kept."""
    for group in optimizer.param_groups:
        if any(each is parameter for each in group["params"]):
            first, second = group["betas"]
            return [] if group.get("amsgrad") else [(float(first), float(second))]
    return []


def _largest(state: _State) -> torch.Tensor:
    return state[_SECOND].detach().max().float()


def _count(state: _State) -> torch.Tensor:
    return state["step"].detach().reshape(()).float()
