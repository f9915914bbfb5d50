"""What a tap tells, and the shield between it and the training loop."""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

import torch

from ftlab.probes.dynamo_private import (
    leave_to_python,
    resume_dynamo,
    suspend_dynamo,
)
from ftlab.probes.own_time import own_time
from ftlab.probes.torch_private import is_traced, set_grad_enabled, unseen_by_modes
from ftlab.records import replaying

_TOLD = re.compile("on_|before_|after_")

P = ParamSpec("P")
R = TypeVar("R")


class Listener(Protocol):
    """The receiver of everything that taps see: `ftlab.probes.stepping.loop.Loop`."""

    def on_forward(
        self, module: torch.nn.Module, inputs: Mapping[str, Any], graph: bool
    ) -> None:
        """Hear that the model is about to run; ``graph``: autograd is on."""

    def before_backward(self, losses: Sequence[torch.Tensor], weights: Any) -> None:
        """Hear that backward begins; ``weights`` are the gradients passed to it."""

    def after_backward(self) -> None:
        """Hear that backward is over, also when it raised."""

    def on_zero_grad(self, owner: Any) -> None:
        """Hear that an optimizer or a module cleared gradients."""

    def before_step(self, optimizer: torch.optim.Optimizer, closure: bool) -> None:
        """Hear that an optimizer is about to change the weights."""

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that an optimizer has changed the weights."""

    def on_held_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that accelerate was asked for a step and has left it out."""

    def on_scale(self, scaler: Any, outputs: Any, scaled: Any) -> None:
        """Hear that a scaler has scaled a loss."""

    def after_unscale(self, scaler: Any, optimizer: Any) -> None:
        """Hear that the gradients of ``optimizer`` are in true scale now."""

    def before_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        """Hear that the scaler is about to step ``optimizer``, or to skip it."""

    def after_scaler_step(self, scaler: Any, optimizer: Any) -> None:
        """Hear that the scaler has stepped ``optimizer``, or skipped it."""

    def after_scaler_update(self, scaler: Any) -> None:
        """Hear that the scaler has chosen a new scale."""

    def before_clip(self, parameters: Sequence[torch.Tensor], how: Any) -> None:
        """Hear that gradients are about to be clipped; see `taps.clip.Clipping`."""

    def after_clip(self, total_norm: torch.Tensor | None) -> None:
        """Hear that gradients were clipped."""

    def on_scheduler_step(
        self, scheduler: Any, before: Any, after: Any, metric: float | None
    ) -> None:
        """Hear that a scheduler moved the learning rates of its optimizer."""

    def before_generation(self, owner: Any, given: Mapping[str, Any]) -> None:
        """Hear that a model is about to generate, and with which arguments."""

    def before_saving(self) -> None:
        """Hear that something begins to be written; it may nest."""

    def after_saving(self) -> None:
        """Hear that it was written, or that this has failed."""

    def after_save(self, owner: Any, folder: Any, selected: Any) -> None:
        """Hear that a model was saved; see `taps.saving`."""

    def after_tokenizer_save(self, owner: Any, folder: Any) -> None:
        """Hear that a tokenizer was saved, or a processor with one in it."""

    def after_write(self, content: Any, file: Any) -> None:
        """Hear that somebody has written tensors, or anything else, to a file."""

    def before_load(self, owner: Any, state: Any, adapter: str | None) -> None:
        """Hear that a module is about to load; PEFT loads one ``adapter``."""

    def after_load(self, owner: Any, state: Any, result: Any) -> None:
        """Hear that a module has loaded, and which keys torch found."""

    def after_adapter_load(self, owner: Any, folder: Any, adapter: Any) -> None:
        """Hear that PEFT has loaded an adapter from a folder."""

    def after_state_dict(self, owner: Any, state: Any) -> None:
        """Hear that a module's state dict was taken."""

    def after_optimizer_load(self, optimizer: Any) -> None:
        """Hear that an optimizer has loaded a state."""

    def before_layer_merge(self, layer: Any, op: str) -> None:
        """Hear that an adapter layer is about to be merged or unmerged."""

    def after_layer_merge(self, layer: Any, op: str) -> None:
        """Hear that an adapter layer was merged or unmerged."""

    def after_adapter_call(self, owner: Any, method: str, adapters: str) -> None:
        """Hear that a method of PEFT has changed adapters; see `taps.peft`."""


def shield(
    function: Callable[P, R], failed: Callable[[Exception], None]
) -> Callable[P, R | None]:
    """Wrap what ftlab does within the user's loop: it neither raises nor is traced.

    Parameters
    ----------
    function
        Runs without autograd, unseen by Dynamo and by dispatch modes.
    failed
        Gets the error in place of the user's loop.
    """

    def shielded(*args: P.args, **kwargs: P.kwargs) -> R | None:
        callback, graph = suspend_dynamo(), torch.is_grad_enabled()
        set_grad_enabled(False)
        try:
            with own_time, unseen_by_modes():
                return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  training goes on without us
            failed(error)
            return None
        finally:
            set_grad_enabled(graph)
            resume_dynamo(callback)

    leave_to_python(shielded)
    return shielded


class Shielded:
    """A listener whose methods go through `shield`, until it is silenced.

    Nothing is passed on while a debugger executes a step again: it was told already.
    Nor from within ``torch.func``, fake tensors or tracers: that is no training.

    Attributes
    ----------
    lock
        Held while the listener is told: several threads may train at once.
    """

    def __init__(self, listener: Any, failed: Callable[[Exception], None]) -> None:
        self._silent = False
        self._failed = failed
        self.lock = threading.RLock()
        names = filter(_TOLD.match, vars(Listener))
        self._methods = {n: getattr(listener, n) for n in names if hasattr(listener, n)}
        # Made here and not when first called: that may be within torch.compile, where
        # Dynamo would trace the making.
        for name in self._methods:
            setattr(self, name, shield(self._told_alone(name), failed))

    def silence(self) -> None:
        """Pass nothing on any more."""
        self._silent = True

    def wants(self, name: str) -> bool:
        """Tell whether it hears of such an operation."""
        return name in self._methods

    def hear(self, name: str, args: tuple[Any, ...]) -> None:
        """Pass on what `is_told` holds for, within a `shield` of the caller's."""
        if self._silent:
            return
        try:
            with self.lock:
                self._methods[name](*args)
        except Exception as error:  # noqa: BLE001  others within the shield hear it too
            self._failed(error)

    def _told_alone(self, name: str) -> Callable[..., None]:
        def pass_on(*args: Any) -> None:
            if is_told():
                self.hear(name, args)

        return pass_on


def is_told() -> bool:
    """Tell whether this is training, which nobody has been told of before."""
    return not (replaying.active() or is_traced())
