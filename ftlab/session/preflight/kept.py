"""All state that a dry step may change, put back bit for bit, in the same objects.

Weights that nothing trains are copied only while they are small; larger ones are
watched, and `KeptState.restore` names those that something wrote to all the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.probes.taps.optimizer import unwrapped
from ftlab.records.unbroken import unbroken
from ftlab.replay.capsules.generators import KeptGenerators, own_generators
from ftlab.replay.capsules.gradients import KeptGradients
from ftlab.replay.capsules.inputs import KeptInputs
from ftlab.replay.capsules.kept import KeptTensor, differ, sample
from ftlab.replay.capsules.own_variables import OwnVariables
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.capsules.scaler import KeptScaler
from ftlab.replay.capsules.side_state import SideState
from ftlab.replay.capsules.update_capsule import held
from ftlab.replay.torch_private import bytes_of, version
from ftlab.replay.tracing.modules import all_modules

FROZEN_BYTES = 256 * 2**20
"""Frozen weights are copied as long as all of them together are not larger."""

_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Kept:
    """What a dry run is about to use: everything in it is put back.

    Attributes
    ----------
    owners
        Objects with attributes that reading or training may move: a trainer, an
        accelerator, a dataset, a collator.
    inputs
        Batches of the user's.
    functions
        Functions of the user's that are called: for the generators that they draw from
        and the variables that they assign.
    values
        Whether the values of weights, gradients and optimizer state are copied; without
        them no step may be made.
    """

    model: torch.nn.Module
    optimizers: Sequence[Any] = ()
    schedulers: Sequence[Any] = ()
    scaler: Any = None
    owners: Sequence[Any] = ()
    inputs: Sequence[Any] = ()
    functions: Sequence[Any] = ()
    values: bool = True


class KeptState:
    """The state of everything in ``what``, as it is now.

    Examples
    --------
    >>> import torch
    >>> from ftlab.session.preflight.kept import Kept, KeptState
    >>> model = torch.nn.Linear(2, 1)
    >>> before = model.weight.detach().clone()
    >>> kept = KeptState(Kept(model))
    >>> with torch.no_grad():
    ...     _ = model.weight.fill_(torch.rand(()))
    >>> kept.restore()
    ()
    >>> torch.equal(model.weight, before)
    True
    """

    def __init__(self, what: Kept) -> None:
        bare = [unwrapped(each) for each in what.optimizers]
        modules = list(all_modules(what.model))
        known = [p for each in bare for p in held(each)]
        self._parameters = _KeptParameters(what.model, known, values=what.values)
        trained = self._parameters.trained
        self._gradients = KeptGradients(trained, copied=what.values)
        self._buffers = [
            KeptTensor("", buffer, copied=True)
            for module in modules
            for buffer in module.buffers(recurse=False)
        ]
        self._optimizers = [_KeptOptimizer(each, what.values) for each in bare]
        self._scaler = None if what.scaler is None else KeptScaler(what.scaler)
        schedulers = [s for each in what.schedulers for s in _with_inner(each)]
        owners = (*modules, *what.optimizers, *schedulers, *what.owners)
        self._sides = [SideState(each) for each in owners if hasattr(each, "__dict__")]
        self._inputs = KeptInputs(tuple(what.inputs), {})
        self._variables = [OwnVariables(each) for each in what.functions]
        drawing = (*what.functions, *map(_finding, what.owners))
        found = {id(g): g for each in drawing for g in own_generators(each)}
        self._generators = KeptGenerators(found.values())
        self._grad_enabled = torch.is_grad_enabled()
        self._rng = RngState.take()

    def restore(self) -> tuple[str, ...]:
        """Put everything back; name the weights for which that was impossible."""
        with unbroken():
            return self._restore()

    def _restore(self) -> tuple[str, ...]:
        for side in self._sides:
            side.restore()
        changed = self._parameters.restore()
        for buffer in self._buffers:
            buffer.restore()
        self._gradients.restore()
        for optimizer in self._optimizers:
            optimizer.restore()
        if self._scaler is not None:
            self._scaler.restore()
        self._inputs.restore()
        for variables in self._variables:
            variables.restore()
        torch.set_grad_enabled(self._grad_enabled)
        torch.clear_autocast_cache()
        self._rng.restore()
        self._generators.restore()
        return changed


def bytes_to_keep(model: torch.nn.Module, optimizers: Iterable[Any]) -> int:
    """Return how much a `KeptState` copies, about."""
    trained = [p for p in model.parameters() if p.requires_grad]
    weights = sum(each.nbytes for each in trained)
    gradients = sum(bytes_of(p.grad) for p in trained if p.grad is not None)
    state = sum(
        bytes_of(tensor)
        for each in optimizers
        for entry in unwrapped(each).state.values()
        for tensor in _tensors(entry)
    )
    return weights + gradients + state


class _KeptParameters:
    """Parameters with what they hold: their memory, attributes and, mostly, a copy."""

    def __init__(
        self,
        model: torch.nn.Module,
        held: Iterable[torch.nn.Parameter],
        *,
        values: bool,
    ) -> None:
        named = {id(p): (name, p) for name, p in model.named_parameters()}
        for parameter in held:
            named.setdefault(id(parameter), ("a weight of the optimizer", parameter))
        # An optimizer leaves alone what has no gradient, and may hold all of a base.
        self.trained = [
            p for _, p in named.values() if p.requires_grad or p.grad is not None
        ]
        trained = {id(p) for p in self.trained}
        frozen = sum(p.nbytes for _, p in named.values() if id(p) not in trained)
        copied = values and frozen <= FROZEN_BYTES
        self._kept = [
            _KeptParameter(name, p, copied=copied or (values and id(p) in trained))
            for name, p in named.values()
        ]

    def restore(self) -> tuple[str, ...]:
        return tuple(each.name for each in self._kept if not each.restore())


class _KeptParameter:
    """One parameter. What it points at is kept too: libraries swap ``.data``."""

    __slots__ = (
        "_attributes",
        "_copy",
        "_data",
        "_requires_grad",
        "_sample",
        "_version",
        "name",
        "parameter",
    )

    def __init__(
        self, name: str, parameter: torch.nn.Parameter, *, copied: bool
    ) -> None:
        self.name = name
        self.parameter = parameter
        self._data = parameter.data
        self._attributes = dict(vars(parameter))
        self._requires_grad = parameter.requires_grad
        self._version = version(parameter)
        self._copy = self._data.clone() if copied else None
        self._sample = None if copied else sample(self._data)

    def restore(self) -> bool:
        """Put it back; false when its values were written to and are not known."""
        live = self.parameter
        if not _same_memory(live.data, self._data):
            live.data = self._data
        if live.requires_grad != self._requires_grad:
            live.requires_grad_(self._requires_grad)
        attributes = vars(live)
        for name in [name for name in attributes if name not in self._attributes]:
            del attributes[name]
        attributes.update(self._attributes)
        if self._copy is not None:
            if not _equal(self._data, self._copy):
                with torch.no_grad():
                    self._data.copy_(self._copy)
            return True
        return self._sample is None or not differ(sample(self._data), self._sample)


class _KeptOptimizer:
    """Values of the state; which tensors it holds the optimizer's attributes say."""

    def __init__(self, optimizer: Any, values: bool) -> None:
        self._state = optimizer.state
        self._entries = [
            (key, each, each.copy())
            for key, each in self._state.items()
            if isinstance(each, dict)
        ]
        holders = (*self._state.values(), *optimizer.param_groups)
        self._tensors = [
            KeptTensor("", tensor, copied=values)
            for value in holders
            for tensor in _tensors(value)
            if not isinstance(tensor, torch.nn.Parameter)
        ]

    def restore(self) -> None:
        # more entries than `SideState` looks into
        for key, live, before in self._entries:
            live.clear()
            live.update(before)
            self._state[key] = live
        for tensor in self._tensors:
            tensor.restore()


def _finding(owner: Any) -> Any:
    """Return a function that finds ``owner`` by name, for `own_generators`."""
    return lambda: owner


def _with_inner(scheduler: Any) -> Iterator[Any]:
    """Yield a scheduler and those within it, accelerate's wrapper included."""
    yield scheduler
    inside = vars(scheduler)
    within = [inside.get("scheduler"), *(inside.get("_schedulers") or ())]
    for each in within:
        if each is not None:
            yield from _with_inner(each)


def _tensors(value: Any, depth: int = _DEPTH) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item, depth - 1)


def _same_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and one.data_ptr() == other.data_ptr()
        and one.device == other.device
    )


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Compare bits: NaN equals NaN, and 0 is not -0."""
    if one.is_sparse or one.device.type == "meta":
        return False
    return torch.equal(
        one.flatten().view(torch.uint8), other.flatten().view(torch.uint8)
    )
