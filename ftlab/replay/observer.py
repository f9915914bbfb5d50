"""What a step does that the debugger must see: backward, scaling, optimizer steps.

Who calls whom: `StepCall` opens a `CallObserver` around each attempt and is its
listener. The observer rebinds ``torch.autograd.backward`` (which ``Tensor.backward``
calls), ``torch.autograd.grad``, ``GradScaler.scale``, ``GradScaler.step`` and
``LRScheduler.step`` for the length of the attempt only, so that nothing stays behind
between two steps.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from ftlab.records.handle import Handle, HandleStack, rebind
from ftlab.replay.torch_private import graph_task
from ftlab.replay.tracing.finite import tensor_leaves


class StepListener(Protocol):
    """What an observer tells.

    Attributes
    ----------
    attempted
        Set when a scaler has stepped an optimizer, or has skipped its step.
    """

    attempted: bool

    def before_scaling(self, scaler: Any, losses: Sequence[torch.Tensor]) -> None:
        """``scaler`` is about to multiply ``losses``."""

    def before_backward(self, losses: Sequence[torch.Tensor]) -> None:
        """Backward is about to begin from ``losses``; scaled ones are left out."""

    def after_backward(self) -> None:
        """Backward is over."""

    def before_scaler_step(self, scaler: Any) -> None:
        """``scaler`` is about to step an optimizer, or to skip its step."""

    def before_schedule(self, scheduler: Any) -> bool:
        """Say whether ``scheduler``, which is about to move, may do so."""


class CallObserver:
    """Tells a listener what one attempt at a step does.

    Parameters
    ----------
    listener
        Whoever wants to know.
    """

    def __init__(self, listener: StepListener) -> None:
        self._listener = listener
        self._handles = HandleStack()
        self._thread = threading.get_ident()
        self._scaled: list[weakref.ref[torch.Tensor]] = []
        self._open = False

    def __enter__(self) -> "CallObserver":
        backward, scaler_class = torch.autograd.backward, torch.amp.GradScaler
        scale, step = scaler_class.scale, scaler_class.step

        def observed_backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._outermost():
                return backward(tensors, *args, **kwargs)
            self._listener.before_backward(self._unscaled(tensors))
            result: Any = backward(tensors, *args, **kwargs)
            self._listener.after_backward()
            return result

        def observed_scale(scaler: Any, outputs: Any) -> Any:
            if not (scaler.is_enabled() and self._outermost()):
                return scale(scaler, outputs)
            self._listener.before_scaling(scaler, tensor_leaves(outputs))
            scaled = scale(scaler, outputs)
            self._scaled += map(weakref.ref, tensor_leaves(scaled))
            return scaled

        def observed_step(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            if not (scaler.is_enabled() and self._outermost()):
                return step(scaler, *args, **kwargs)
            self._listener.before_scaler_step(scaler)
            result = step(scaler, *args, **kwargs)
            self._listener.attempted = True
            return result

        self._open = True
        self._handles.add(rebind(torch.autograd, "backward", observed_backward))
        self._handles.add(rebind(scaler_class, "scale", observed_scale))
        self._handles.add(rebind(scaler_class, "step", observed_step))
        self._handles.add(self._observe_grad())
        self._observe_schedulers()
        return self

    def __exit__(self, *exception: object) -> None:
        # Somebody who has rebound the same in the meantime still calls through us.
        self._open = False
        self._handles.remove()

    def _observe_grad(self) -> Handle:
        grad = torch.autograd.grad

        def observed_grad(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            # A compiler calls it too, on tensors that hold no values.
            real = all(type(t) is torch.Tensor for t in tensor_leaves(outputs))
            if real and self._outermost():
                self._listener.before_backward(self._unscaled(outputs))
            return grad(outputs, *args, **kwargs)

        return rebind(torch.autograd, "grad", observed_grad)

    def _observe_schedulers(self) -> None:
        for kind in _with_own_step(torch.optim.lr_scheduler.LRScheduler):
            self._handles.add(rebind(kind, "step", self._observed_move(kind.step)))

    def _observed_move(self, step: Callable[..., None]) -> Callable[..., None]:
        def observed_step(scheduler: Any, *args: Any, **kwargs: Any) -> None:
            if not self._outermost() or self._listener.before_schedule(scheduler):
                step(scheduler, *args, **kwargs)

        return observed_step

    def _unscaled(self, tensors: Any) -> list[torch.Tensor]:
        """Leave out what a scaler made: that may overflow while the loss does not."""
        known = [reference() for reference in self._scaled]
        roots = tensor_leaves(tensors)
        return [t for t in roots if all(t is not scaled for scaled in known)]

    def _outermost(self) -> bool:
        """Leave out other threads, and the backward that a checkpoint runs inside."""
        mine = self._open and threading.get_ident() == self._thread
        return mine and graph_task() == -1


def _with_own_step(kind: Any) -> list[Any]:
    """List ``kind`` and what derives from it, where it brings a ``step`` of its own."""
    own = [kind] if "step" in vars(kind) else []
    return own + [k for each in kind.__subclasses__() for k in _with_own_step(each)]
