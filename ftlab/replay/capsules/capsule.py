"""What a step needs to run a second time exactly as it ran the first time.

Parameters are not copied: forward and backward leave them alone, which their versions
prove. A step that changed them anyway is not replayed, and says so.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.records.errors import NotReplayableError
from ftlab.replay.capsules.context import active_autocast
from ftlab.replay.capsules.generators import KeptGenerators
from ftlab.replay.capsules.gradients import KeptGradients
from ftlab.replay.capsules.inputs import KeptInputs
from ftlab.replay.capsules.kept import KeptTensor, differ, sample
from ftlab.replay.capsules.model_calls import ModelCalls
from ftlab.replay.capsules.options import KeptOptions, KeptScheduler
from ftlab.replay.capsules.own_variables import OwnVariables
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.capsules.scaler import KeptScaler
from ftlab.replay.capsules.side_state import SideState
from ftlab.replay.torch_private import version, versions
from ftlab.replay.tracing.modules import all_modules, clean_name


@dataclass(frozen=True, slots=True)
class Start:
    """What a step started from: live objects with the values that they had.

    Attributes
    ----------
    rng, generators
        Of everybody, and the step's own.
    grad_enabled, autocast
        Of the call.
    training
        Modules with their mode.
    gradients, cleared
        Those that there were, and whether the step dropped them before backward.
    buffers
        Live buffers with their values.
    scalers, options
        Each scaler's attributes, each optimizer's options by group.
    """

    rng: RngState
    generators: list[tuple[str, Any]]
    grad_enabled: bool
    autocast: tuple[tuple[str, torch.dtype], ...]
    training: list[tuple[torch.nn.Module, bool]]
    gradients: list[tuple[torch.nn.Parameter, torch.Tensor]]
    cleared: bool
    buffers: list[tuple[torch.Tensor, torch.Tensor]]
    scalers: list[tuple[Any, dict[str, Any]]]
    options: list[tuple[torch.optim.Optimizer, list[dict[str, Any]]]]


class Capsule:
    """The start of one call of the re-callable step.

    Parameters
    ----------
    model
        The model that the step trains.
    inputs
        The arguments of the call.
    owner
        The trainer whose counters and metric buffers the step moves, if there is one.
    copy_gradients
        Copy the gradients at once instead of when backward begins.
    sample_weights
        Look at a few values of each weight, to notice a step that changes weights
        behind the back of their versions, with ``.data``.
    generators
        The step's own random generators.
    function
        The step, for the variables that it assigns.
    modules
        The model's, as an earlier call found them.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        inputs: KeptInputs,
        *,
        owner: Any = None,
        copy_gradients: bool = True,
        sample_weights: bool = False,
        generators: Iterable[Any] = (),
        function: Any = None,
        modules: "Modules | None" = None,
    ) -> None:
        self.inputs = inputs
        self.model = model
        if modules is None or not modules.still(model):
            modules = Modules(model)
        self.modules = modules
        parts = _Parts(modules)
        self._parts = parts
        trainable = [p for p in parts.parameters if p.requires_grad]
        self.gradients = KeptGradients(trainable, copied=copy_gradients)
        self._versions = versions(parts.parameters)
        self._samples = [(p, sample(p)) for p in trainable] if sample_weights else []
        self._buffers = [
            (holder, name, KeptTensor.of(f"buffer {name}", buffer))
            for holder, name, buffer in parts.buffers
        ]
        self._scalers: list[KeptScaler] = []
        self._options: list[KeptOptions | KeptScheduler] = []
        self._grad_enabled = torch.is_grad_enabled()
        self._autocast = active_autocast()
        self.model_calls = ModelCalls(model)
        self._side = SideState(owner)
        self._moved: tuple[str, ...] = ()
        self._rng = RngState.take()
        self._generators = KeptGenerators(generators)
        self._variables = OwnVariables(function)

    def add_scaler(self, scaler: Any) -> None:
        """Keep the state of a GradScaler, before the step first uses it."""
        if all(kept.scaler is not scaler for kept in self._scalers):
            self._scalers.append(KeptScaler(scaler))

    def add_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Keep learning rates and other options, before the step changes them."""
        if all(kept.subject is not optimizer for kept in self._options):
            self._options.append(KeptOptions(optimizer))
            for group in optimizer.param_groups:
                self.gradients.include(group["params"])

    def add_scheduler(self, scheduler: Any) -> None:
        """Keep the state of a scheduler, before the step first moves it."""
        if all(kept.subject is not scheduler for kept in self._options):
            self._options.append(KeptScheduler(scheduler))
            self.add_optimizer(scheduler.optimizer)

    @property
    def trainable(self) -> list[tuple[str, torch.nn.Parameter]]:
        """The trainable parameters with their names."""
        named = self.model.named_parameters()
        return [(clean_name(name), p) for name, p in named if p.requires_grad]

    @property
    def scalers(self) -> tuple[Any, ...]:
        """The gradient scalers that the step used."""
        return tuple(kept.scaler for kept in self._scalers)

    @property
    def start(self) -> Start:
        """What it holds; see `obstacle`."""
        return Start(
            rng=self._rng,
            generators=self._generators.states,
            grad_enabled=self._grad_enabled,
            autocast=self._autocast,
            training=self._parts.training(),
            gradients=self.gradients.kept,
            cleared=self.gradients.cleared,
            buffers=[(kept.tensor, kept.value) for _, _, kept in self._buffers],
            scalers=[(kept.scaler, kept.before) for kept in self._scalers],
            options=[
                (kept.subject, kept.groups)
                for kept in self._options
                if isinstance(kept, KeptOptions)
            ],
        )

    @functools.cached_property
    def nbytes(self) -> int:
        """Bytes of the batch and of the gradients that it keeps from being freed."""
        return self.inputs.nbytes + self.gradients.nbytes

    def adopt(self, other: "Capsule") -> None:
        """Keep the state of what another step changes too, as it is now."""
        for scaler in other.scalers:
            self.add_scaler(scaler)
        for kept in other._options:  # noqa: SLF001  of the same class
            if isinstance(kept, KeptScheduler):
                self.add_scheduler(kept.subject)
            else:
                self.add_optimizer(kept.subject)

    def accept_weights(self) -> None:
        """Take the weights for those of the start: they were put back by others."""
        self._versions = versions(self._parts.parameters)

    @property
    def moved(self) -> tuple[str, ...]:
        """Objects of the trainer that the step has changed, for good."""
        return self._moved

    def obstacle(self) -> str | None:
        """Say what stands in the way of running the step again, if anything."""
        known = zip(self._parts.parameters, self._versions, strict=True)
        changed = [p for p, before in known if version(p) != before]
        changed += [p for p, before in self._samples if differ(sample(p), before)]
        for parameter in changed[:1]:
            name = name_of(self.model, parameter)
            return f"parameter {name} has already been changed in this step"
        buffers = (kept.obstacle() for _, _, kept in self._buffers)
        found = (self.inputs.obstacle(), self.gradients.obstacle(), *buffers)
        return next((obstacle for obstacle in found if obstacle), None)

    def restore(self) -> None:
        """Go back to the start of the step.

        Raises
        ------
        NotReplayableError
            When something was changed that is not kept.
        """
        obstacle = self.obstacle()
        if obstacle is not None:
            msg = f"The step cannot be executed again: {obstacle}."
            raise NotReplayableError(msg)
        self.gradients.restore()
        self.inputs.restore()
        self.restore_buffers()
        for module, training in self._parts.training():
            module.training = training
        for kept_object in (*self._scalers, *self._options):
            kept_object.restore()
        self._moved = self._moved or self._side.moved
        self._side.restore()
        torch.set_grad_enabled(self._grad_enabled)
        # The unwound forward may have cached casts that the first run did not have.
        torch.clear_autocast_cache()
        self._rng.restore()
        self._generators.restore()
        self._variables.restore()

    def restore_buffers(self) -> None:
        """Put back the model's buffers, such as running statistics."""
        for holder, name, kept in self._buffers:
            kept.restore()
            holder[name] = kept.tensor


class Modules:
    """The modules of a model: a step walks through them only where they are others."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.all = list(all_modules(model))
        self.held = list(map(vars, self.all))
        self._inside = self._children()

    def still(self, model: torch.nn.Module) -> bool:
        """Tell whether they are still all that the model has."""
        known = self._inside is not None and self.all[0] is model
        return known and self._children() == self._inside

    def _children(self) -> list[int] | None:
        """Identify what each holds; a module of torch.jit does not tell."""
        if not all("_modules" in held for held in self.held):
            return None
        return [id(c) for held in self.held for c in held["_modules"].values()]


class _Parts:
    """What a capsule asks of each module of a model.

    Lists side by side, not of pairs: a thousand new pairs in each step make Python
    collect garbage, which took more than all else of an armed debugger.

    Attributes
    ----------
    parameters
        As often as modules hold them.
    buffers
        With what holds them, and their names there.
    """

    __slots__ = ("_modes", "_modules", "buffers", "parameters")

    def __init__(self, modules: Modules) -> None:
        self._modules = modules.all
        self._modes = [module.training for module in modules.all]
        self.parameters: list[torch.nn.Parameter] = [
            parameter
            for held in modules.held
            for parameter in held["_parameters"].values()
            if parameter is not None
        ]
        self.buffers: list[tuple[dict[str, Any], str, torch.Tensor]] = [
            (held["_buffers"], name, buffer)
            for held in modules.held
            if held["_buffers"]
            for name, buffer in held["_buffers"].items()
            if buffer is not None
        ]

    def training(self) -> list[tuple[torch.nn.Module, bool]]:
        """Return the modules with the mode that each was in."""
        return list(zip(self._modules, self._modes, strict=True))


def name_of(model: torch.nn.Module, parameter: torch.nn.Parameter) -> str:
    """Return the name of a parameter of ``model``."""
    named = model.named_parameters()
    return next((clean_name(n) for n, p in named if p is parameter), "(unnamed)")
