"""One of two executions: what runs, on what, under which settings."""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from ftlab.executions.listening import Listener, Listening
from ftlab.executions.wide import Wide
from ftlab.records import replaying
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.capsules.generators import KeptGenerators, own_generators
from ftlab.replay.capsules.inputs import KeptInputs
from ftlab.replay.capsules.kept import KeptTensor, differ, sample
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.capsules.side_state import SideState
from ftlab.replay.torch_private import backward_within_modes, hooks_of


class NotApplicableError(Exception):
    """A relation does not apply to this model or batch; the message says why."""


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
        graph: bool = False,
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
        graph
            Record what backward would need, although it is not run: code may ask.
        within
            Entered innermost; a dispatch mode sees the code's own operations there.
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.settings())
            stack.enter_context(torch.set_grad_enabled(backward or graph))
            stack.enter_context(WithoutDropout())
            if wide:
                stack.enter_context(widened(self.model, rounding))
            stack.enter_context(within or nullcontext())
            listening = stack.enter_context(Listening(self.model, listener))
            output = self.call()
            loss, awaited = loss_of(output), listening.awaited
            if backward and loss is not None and (loss.requires_grad or awaited):
                backward_within_modes(loss, awaited)
        if backward:
            listener.finished(self.model)


@contextlib.contextmanager
def widened(model: torch.nn.Module, rounding: float = 0.0) -> Iterator[None]:
    """Compute a model in float64, its weights rounded once more if ``rounding``."""
    with (
        sdpa_kernel(SDPBackend.MATH),
        _widened_parametrizations(),
        WideConvolutions(),
        Wide(rounding=rounding, weights=model.parameters()),
    ):
        yield


class WideConvolutions(TorchFunctionMode):
    """Widens the weights of convolutions, which ask for one dtype before they begin."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, with float64 weights if it is a convolution."""
        if func in _CONVOLUTIONS:
            args = tuple(_double(each) for each in args)
            kwargs = {key: _double(each) for key, each in (kwargs or {}).items()}
        return func(*args, **(kwargs or {}))


def _double(value: Any) -> Any:
    floats = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if floats else value


_CONVOLUTIONS = frozenset(
    getattr(torch, f"conv{transposed}{dims}d")
    for transposed in ("", "_transpose")
    for dims in (1, 2, 3)
)


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
def undisturbed(*sides: Side) -> Iterator["Start"]:
    """Leave models, gradients, buffers, modes and generators as they were.

    Who watches a model does not hear what is done meanwhile. Yields what each execution
    begins with.
    """
    models = {id(side.model): side for side in sides}
    capsules = [Capsule(s.model, KeptInputs((s.batch,), {})) for s in models.values()]
    start = Start(sides)
    try:
        with replaying.marked():
            yield start
    finally:
        start.restore_generators()
        for capsule in capsules:
            capsule.accept_weights()  # some layers put theirs together in each forward
            capsule.restore()


class Start:
    """What executions begin with: the state of the generators, and the weights.

    Parameters
    ----------
    sides
        Whose weights must stay what they are.
    """

    def __init__(self, sides: Sequence[Side]) -> None:
        self._rng = RngState.take()
        models = {id(side.model): side.model for side in sides}
        held = [v for m in models.values() for each in m.modules() for v in _own(each)]
        self._generators = KeptGenerators(held)
        trained = [
            p for m in models.values() for p in m.parameters() if p.requires_grad
        ]
        self._samples = [(p, sample(p)) for p in trained]
        modules = [each for m in models.values() for each in m.modules()]
        weights = [p for m in models.values() for p in m.parameters()]
        # weights of few bits have attributes too, which a first call takes over
        owners: list[Any] = [*modules, *(each for each in weights if vars(each))]
        self._kept = [SideState(each) for each in owners]
        self._buffers = [
            KeptTensor("", buffer, copied=True)
            for each in modules
            for buffer in each.buffers(recurse=False)
        ]

    def restore_generators(self) -> None:
        """Put back the generators of everybody, and those that modules hold."""
        self._rng.restore()
        self._generators.restore()

    def restore_modules(self) -> None:
        """Put back what modules keep between calls: counters, caches, buffers."""
        for kept in self._kept:
            kept.restore()
        for buffer in self._buffers:
            buffer.restore()

    def put_back(self) -> None:
        """Put the generators back.

        Raises
        ------
        NotApplicableError
            An execution has changed weights.
        """
        self.restore_generators()
        if any(differ(sample(p), before) for p, before in self._samples):
            msg = "backward itself changes the weights, so no step can be made twice"
            raise NotApplicableError(msg)


def _own(module: torch.nn.Module) -> Iterator[Any]:
    """Yield the random generators that a module holds."""
    kinds = (torch.Generator, random.Random, np.random.RandomState, np.random.Generator)
    yield from (value for value in vars(module).values() if isinstance(value, kinds))
    if type(module).__module__.partition(".")[0] not in _LIBRARIES:
        yield from own_generators(module.forward)
    for hook in hooks_of(module):
        yield from own_generators(hook)


_LIBRARIES = frozenset(
    {"torch", "transformers", "peft", "trl", "accelerate", "bitsandbytes"}
)
"""Their modules draw from the generators of everybody."""


def start_again(side: Side, start: Start) -> None:
    """Put generators back, and clear the gradients, before an execution."""
    start.put_back()
    for parameter in side.model.parameters():
        parameter.grad = None
