"""Weights and optimizer state before an optimizer step, so that it can run again."""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from ftlab.records.by_id import ById
from ftlab.replay.capsules.kept import Copies
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.torch_private import bytes_of, version
from ftlab.replay.tracing.finite import float_leaves

_sizes: ById[torch.optim.Optimizer, tuple[Any, int]] = ById()


class UpdateCapsule:
    """What one optimizer's step changes.

    Everything is put back in place: the tensors of the state stay the objects that they
    were, and what the step added to the state is taken out.

    Parameters
    ----------
    optimizer
        It is about to step.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self._held = list(held(optimizer))
        self._entries = {p: dict(entry) for p, entry in optimizer.state.items()}
        # Some optimizers keep counters in their groups.
        self._options = [(group, dict(group)) for group in optimizer.param_groups]
        entries = (*self._entries.values(), *(kept for _, kept in self._options))
        self._tensors = [v for kept in entries for v in kept.values() if _is_tensor(v)]
        self._copies = Copies([*self._held, *self._tensors])
        self._gradients = [p.grad for p in self._held if p.grad is not None]
        self._versions = list(map(version, self._gradients))
        self._rng = RngState.take()

    @staticmethod
    def bytes_of(optimizer: torch.optim.Optimizer) -> int:
        """Return how much a capsule of ``optimizer`` would hold now.

        Before the first step the state is empty; two moments are counted then. What
        was summed up holds until the optimizer has other groups, or more states.
        """
        groups = [len(group["params"]) for group in optimizer.param_groups]
        known, size = _sizes.get(optimizer, (None, 0))
        if known != (now := (groups, len(optimizer.state))):
            size = UpdateCapsule._sum(optimizer)
            _sizes[optimizer] = now, size
        return size

    @staticmethod
    def _sum(optimizer: torch.optim.Optimizer) -> int:
        weights = sum(p.nbytes for p in held(optimizer))
        state = sum(bytes_of(each) for each in _state_tensors(optimizer))
        return weights + (state or 2 * weights)

    @property
    def nbytes(self) -> int:
        """Bytes of the copies."""
        return self._copies.nbytes

    @functools.cached_property
    def weights(self) -> list[tuple[torch.nn.Parameter, torch.Tensor]]:
        """The parameters with the values that they had."""
        copied = self._copies.values[: len(self._held)]
        return list(zip(self._held, copied, strict=True))

    @functools.cached_property
    def _of_state(self) -> dict[int, torch.Tensor]:
        copied = self._copies.values[len(self._held) :]
        return {id(v): copy for v, copy in zip(self._tensors, copied, strict=True)}

    def _values(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Give each value as it was; what is no tensor is its own copy."""
        return {name: self._of_state.get(id(v), v) for name, v in entry.items()}

    @property
    def state(self) -> dict[Any, dict[str, Any]]:
        """The optimizer's state as it was, by parameter."""
        return {p: self._values(entry) for p, entry in self._entries.items()}

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The options of each group, without its parameters."""
        found = [self._values(entry) for _, entry in self._options]
        return [{k: v for k, v in each.items() if k != "params"} for each in found]

    @property
    def gradients(self) -> list[tuple[torch.nn.Parameter, torch.Tensor]]:
        """The gradients that the optimizer goes by."""
        found = [p for p in held(self.optimizer) if p.grad is not None]
        kept = [each.detach() for each in self._gradients]
        return list(zip(found, kept, strict=True))

    @property
    def rng(self) -> RngState:
        """The random generators."""
        return self._rng

    def obstacle(self) -> str | None:
        """Say what keeps the step from running again, if anything."""
        changed = list(map(version, self._gradients)) != self._versions
        return "the optimizer has changed its gradients" if changed else None

    def restore(self) -> None:
        """Put weights, state and options back as they were."""
        self.restore_values()
        for group, options in self._options:
            self._put_back(group, options)
        self._rng.restore()

    def restore_values(self) -> None:
        """Put weights and state back; options and random numbers stay."""
        with torch.no_grad():
            for parameter, weight in self.weights:
                parameter.detach().copy_(weight)
        state = self.optimizer.state
        for added in [p for p in state if p not in self._entries]:
            del state[added]
        for key, entry in self._entries.items():
            self._put_back(state[key], entry)

    def _put_back(self, entry: dict[str, Any], kept: dict[str, Any]) -> None:
        for name in [name for name in entry if name not in kept]:
            del entry[name]
        for name, value in kept.items():
            if _is_tensor(value):
                with torch.no_grad():
                    value.detach().copy_(self._of_state[id(value)])
            entry[name] = value


def held(optimizer: torch.optim.Optimizer) -> Iterator[torch.nn.Parameter]:
    """Yield the parameters that an optimizer has."""
    for group in optimizer.param_groups:
        yield from group["params"]


def updated_tensors(
    optimizer: torch.optim.Optimizer,
) -> Iterable[tuple[torch.nn.Parameter, str, torch.Tensor]]:
    """Yield what a step writes: parameter, name of the state or ``""``, and tensor."""
    for parameter in held(optimizer):
        yield parameter, "", parameter.detach()
        for name, value in optimizer.state.get(parameter, {}).items():
            for tensor in float_leaves(value):
                yield parameter, str(name), tensor


def _state_tensors(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    for entry in optimizer.state.values():
        yield from (v for v in entry.values() if isinstance(v, torch.Tensor))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)
