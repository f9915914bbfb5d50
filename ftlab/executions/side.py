"""One of two executions: what runs, on what, under which settings."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from ftlab.executions.listening import Listener, Listening
from ftlab.executions.wide import Wide
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.capsules.inputs import KeptInputs
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.torch_private import backward_within_modes


@dataclass(frozen=True, slots=True)
class Side:
    """One execution.

    Attributes
    ----------
    model
        Whose modules are compared.
    batch
        What it is called with.
    call
        Runs forward and returns what the model returns.
    settings
        Entered around each run.
    """

    model: torch.nn.Module
    batch: Any
    call: Callable[[], Any]
    settings: Callable[[], AbstractContextManager[Any]] = nullcontext

    def run(
        self,
        listener: Listener,
        *,
        wide: bool = False,
        rounding: float = 0.0,
        backward: bool = True,
        within: AbstractContextManager[Any] | None = None,
    ) -> None:
        """Execute forward, and backward where there is a loss.

        Parameters
        ----------
        listener
            Is shown what modules are given and return.
        wide, rounding
            Compute in float64, and with weights rounded once more, see `Wide`.
        backward
            Compute gradients where there is a loss.
        within
            Entered innermost; a dispatch mode sees the code's own operations there.
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.settings())
            stack.enter_context(torch.set_grad_enabled(backward))
            stack.enter_context(WithoutDropout())
            if wide:
                stack.enter_context(sdpa_kernel(SDPBackend.MATH))
                stack.enter_context(_widened_parametrizations())
                weights = self.model.parameters()
                stack.enter_context(Wide(rounding=rounding, weights=weights))
            stack.enter_context(within or nullcontext())
            stack.enter_context(Listening(self.model, listener))
            output = self.call()
            loss = loss_of(output)
            if backward and loss is not None and loss.requires_grad:
                backward_within_modes(loss)
        listener.finished(self.model)


@contextlib.contextmanager
def _widened_parametrizations() -> Iterator[None]:
    """Let a parametrization that is put on meanwhile return another dtype."""
    module = torch.nn.utils.parametrize
    before = module.register_parametrization
    module.register_parametrization = partial(before, unsafe=True)
    try:
        yield
    finally:
        module.register_parametrization = before


class WithoutDropout(TorchFunctionMode):
    """Lets dropout drop nothing: which units it drops says nothing of two executions.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.side import WithoutDropout
    >>> with WithoutDropout():
    ...     torch.nn.Dropout(0.9)(torch.ones(3))
    tensor([1., 1., 1.])
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, or return what dropout was given."""
        kwargs = kwargs or {}
        if func in _DROPOUTS:
            return args[0] if args else kwargs["input"]
        if func is scaled_dot_product_attention:
            if len(args) > 4:
                args = (*args[:4], 0.0, *args[5:])
            else:
                kwargs = kwargs | {"dropout_p": 0.0}
        return func(*args, **kwargs)


_DROPOUTS = frozenset(
    {
        torch.dropout,
        torch.feature_dropout,
        torch.alpha_dropout,
        *(
            getattr(torch.nn.functional, name)
            for name in (
                "dropout",
                "dropout1d",
                "dropout2d",
                "dropout3d",
                "alpha_dropout",
                "feature_alpha_dropout",
            )
        ),
    }
)


def loss_of(output: Any) -> torch.Tensor | None:
    """Return the loss in what a model returned, if there is one."""
    loss = (
        output.get("loss")
        if isinstance(output, dict)
        else getattr(output, "loss", None)
    )
    if loss is None and isinstance(output, torch.Tensor) and output.dim() == 0:
        loss = output
    return loss if isinstance(loss, torch.Tensor) and loss.numel() == 1 else None


@contextlib.contextmanager
def undisturbed(*sides: Side) -> Iterator[RngState]:
    """Leave models, gradients, buffers, modes and generators as they were.

    Yields the state of the generators, which each execution begins with.
    """
    models = {id(side.model): side for side in sides}
    capsules = [Capsule(s.model, KeptInputs((s.batch,), {})) for s in models.values()]
    try:
        yield RngState.take()
    finally:
        for capsule in capsules:
            capsule.accept_weights()  # some layers put theirs together in each forward
            capsule.restore()


def start_again(side: Side, rng: RngState) -> None:
    """Put generators back, and clear the gradients, before an execution."""
    rng.restore()
    for parameter in side.model.parameters():
        parameter.grad = None
