"""Weights and optimizer state before an optimizer step, so that it can run again."""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from ftlab.replay.capsules.kept import KeptTensor, copies
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.torch_private import bytes_of
from ftlab.replay.tracing.finite import float_leaves


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
        weights, state = list(held(optimizer)), optimizer.state
        # Some optimizers keep counters in their groups.
        entries = [*state.values(), *optimizer.param_groups]
        tensors = [v for entry in entries for v in entry.values() if _is_tensor(v)]
        copied = copies([*weights, *tensors])
        of_state = {
            id(tensor): copy
            for tensor, copy in zip(tensors, copied[len(weights) :], strict=True)
        }
        self._weights = list(zip(weights, copied[: len(weights)], strict=True))
        self._state = {p: _entry(kept, of_state) for p, kept in state.items()}
        self._groups = [(g, _entry(g, of_state)) for g in optimizer.param_groups]
        self._gradients = [
            KeptTensor("a gradient", p.grad, copied=False)
            for p in held(optimizer)
            if p.grad is not None
        ]
        self._rng = RngState.take()

    @staticmethod
    def bytes_of(optimizer: torch.optim.Optimizer) -> int:
        """Return how much a capsule of ``optimizer`` would hold now.

        Before the first step the state is empty; two moments are counted then.
        """
        weights = sum(p.nbytes for p in held(optimizer))
        state = sum(bytes_of(each) for each in _state_tensors(optimizer))
        return weights + (state or 2 * weights)

    @functools.cached_property
    def nbytes(self) -> int:
        """Bytes of the copies."""
        entries = (*self._state.values(), *(entry for _, entry in self._groups))
        copies = [copy for entry in entries for _, copy in entry.values()]
        copies += [copy for _, copy in self._weights]
        return sum(bytes_of(copy) for copy in copies if _is_tensor(copy))

    @property
    def weights(self) -> list[tuple[torch.nn.Parameter, torch.Tensor]]:
        """The parameters with the values that they had."""
        return list(self._weights)

    @property
    def state(self) -> dict[Any, dict[str, Any]]:
        """The optimizer's state as it was, by parameter."""
        return {p: _values(entry) for p, entry in self._state.items()}

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The options of each group, without its parameters."""
        found = [_values(entry) for _, entry in self._groups]
        return [{k: v for k, v in each.items() if k != "params"} for each in found]

    @property
    def gradients(self) -> list[tuple[torch.nn.Parameter, torch.Tensor]]:
        """The gradients that the optimizer goes by."""
        found = [p for p in held(self.optimizer) if p.grad is not None]
        kept = self._gradients
        return [(p, each.value) for p, each in zip(found, kept, strict=True)]

    @property
    def rng(self) -> RngState:
        """The random generators."""
        return self._rng

    def obstacle(self) -> str | None:
        """Say what keeps the step from running again, if anything."""
        changed = any(kept.changed for kept in self._gradients)
        return "the optimizer has changed its gradients" if changed else None

    def restore(self) -> None:
        """Put weights, state and options back as they were."""
        self.restore_values()
        for group, options in self._groups:
            _put_back(group, options)
        self._rng.restore()

    def restore_values(self) -> None:
        """Put weights and state back; options and random numbers stay."""
        with torch.no_grad():
            for parameter, weight in self._weights:
                parameter.detach().copy_(weight)
        state = self.optimizer.state
        for added in [p for p in state if p not in self._state]:
            del state[added]
        for key, entry in self._state.items():
            _put_back(state[key], entry)


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


def _entry(
    entry: dict[str, Any], copied: dict[int, torch.Tensor]
) -> dict[str, tuple[Any, Any]]:
    """Keep each value with its copy; what is no tensor is its own copy."""
    return {
        name: (value, copied[id(value)] if _is_tensor(value) else value)
        for name, value in entry.items()
    }


def _put_back(entry: dict[str, Any], kept: dict[str, tuple[Any, Any]]) -> None:
    for name in [name for name in entry if name not in kept]:
        del entry[name]
    for name, (value, copy) in kept.items():
        if _is_tensor(value):
            with torch.no_grad():
                value.detach().copy_(copy)
        entry[name] = value


def _values(entry: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
    return {name: copy for name, (_, copy) in entry.items()}


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)
