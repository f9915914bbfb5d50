"""Weights and optimizer state before an optimizer step, so that it can run again."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import torch

from ftlab.replay.capsules.kept import Copies, Grouped
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.torch_private import bytes_of, versions
from ftlab.replay.tracing.finite import float_leaves, is_plain

_SINGLE = (torch.Tensor, int, float, str, type(None))
"""What a state holds that is no container."""


ALONE = ""
"""Name of what an optimizer keeps without one: a count under a word, say."""


class Updated:
    """What the steps of an optimizer change; listed anew where it holds others now.

    Parameters
    ----------
    optimizer
        It is not kept.

    Attributes
    ----------
    parameters
        That it holds.
    entries
        Its state by parameter.
    tensors
        The parameters, and the tensors of its state and of its options.
    floats
        Those of the parameters and the state that can be non-finite; ``None`` where
        one is hidden in a container, or of an unusual kind.
    nbytes
        What copies of them take. Before the first step the state is empty; two moments
        are counted then.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._ids: list[int] = []
        self.look(optimizer)

    def look(self, optimizer: torch.optim.Optimizer) -> Self:
        """Look whether it holds others now."""
        parameters, state = list(held(optimizer)), optimizer.state
        values = [v for entry in state.values() for v in _held_in(entry)]
        groups = optimizer.param_groups
        options = [v for group in groups for v in group.values() if _is_tensor(v)]
        kept = (parameters, state, values, options)
        ids = [number for each in kept for number in map(id, each)]
        if ids != self._ids:
            self._ids, self.parameters = ids, parameters
            self.entries = {p: _by_name(entry) for p, entry in state.items()}
            tensors = [value for value in values if _is_tensor(value)]
            self.tensors = Grouped([*parameters, *tensors, *options])
            self.floats = _floats([*parameters, *values])
            weights = sum(each.nbytes for each in parameters)
            self.nbytes = weights + (sum(map(bytes_of, tensors)) or 2 * weights)
        return self


def _floats(held: Sequence[Any]) -> Grouped | None:
    tensors = [each for each in held if _is_tensor(each) and each.numel()]
    floats = [t for t in tensors if t.is_floating_point() or t.is_complex()]
    known = all(isinstance(each, _SINGLE) for each in held)
    return Grouped(floats) if known and all(map(is_plain, floats)) else None


class UpdateCapsule:
    """What one optimizer's step changes.

    Everything is put back in place: the tensors of the state stay the objects that they
    were, and what the step added to the state is taken out.

    Parameters
    ----------
    optimizer
        It is about to step.
    updated
        What it holds, where that has been listed.
    """

    def __init__(
        self, optimizer: torch.optim.Optimizer, updated: Updated | None = None
    ) -> None:
        updated = Updated(optimizer) if updated is None else updated
        self.optimizer = optimizer
        self._held, self._entries = updated.parameters, updated.entries
        # Some optimizers keep counters in their groups.
        self._options = [(group, dict(group)) for group in optimizer.param_groups]
        self._tensors = updated.tensors.tensors
        self._copies = Copies(updated.tensors)
        self._gradients = [p.grad for p in self._held if p.grad is not None]
        self._versions = versions(self._gradients)
        self._rng = RngState.take()

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
        pairs = zip(self._tensors, self._copies.values, strict=True)
        return {id(tensor): copy for tensor, copy in pairs}

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
        changed = versions(self._gradients) != self._versions
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
            if entry.keys() == {ALONE}:
                state[key] = self._put_back_value(entry[ALONE])
            else:
                self._put_back(state[key], entry)

    def _put_back(self, entry: dict[str, Any], kept: dict[str, Any]) -> None:
        for name in [name for name in entry if name not in kept]:
            del entry[name]
        for name, value in kept.items():
            entry[name] = self._put_back_value(value)

    def _put_back_value(self, value: Any) -> Any:
        if _is_tensor(value):
            with torch.no_grad():
                value.detach().copy_(self._of_state[id(value)])
        return value


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
        for name, value in _by_name(optimizer.state.get(parameter, {})).items():
            for tensor in float_leaves(value):
                yield parameter, str(name), tensor


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _by_name(entry: Any) -> dict[str, Any]:
    return dict(entry) if isinstance(entry, Mapping) else {ALONE: entry}


def _held_in(entry: Any) -> Iterable[Any]:
    return entry.values() if isinstance(entry, Mapping) else (entry,)
