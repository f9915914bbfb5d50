"""Asks TorchLens where a NaN is born: ``find_nan``, then ``bisect_nan_backward``.

Both look at one call of one module. So the loss becomes a module, as a user would write
it: the step up to its ``backward()``, or ``compute_loss`` of a Trainer. The step is
taken for real after each look that found nothing.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

from benchmarks.anomalies.case import Live
from benchmarks.naming.claim import OUTSIDE, Claim

ROOT = "model"


class LossFound(BaseException):
    """Leaves a step where it calls ``backward()``; no handler of the step takes it."""

    def __init__(self, loss: torch.Tensor) -> None:
        self.loss = loss


class Loss(torch.nn.Module):
    """A model and what makes a loss of it and a batch."""

    def __init__(self, model: torch.nn.Module, compute: Callable[[Any], Any]) -> None:
        super().__init__()
        self.model = model
        self._compute = compute

    def forward(self, batch: Any) -> Any:
        """Compute the loss."""
        return self._compute(batch)


class Answered(BaseException):
    """Ends a Trainer's run when something was found."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim


def until_backward(step: Callable[[Any], Any]) -> Callable[[Any], torch.Tensor]:
    """Make a function that computes what a step calls ``backward()`` on."""

    def stop(loss: torch.Tensor, *_: Any, **__: Any) -> None:
        raise LossFound(loss)

    def compute(batch: Any) -> torch.Tensor:
        with mock.patch.object(torch.Tensor, "backward", stop):
            try:
                return step(batch)
            except LossFound as found:
                return found.loss

    return compute


def look(live: Live, position: Any) -> Claim | None:
    """Look at each step before it is taken."""
    if live.trainer is not None:
        return _look_in_trainer(live, position)
    module = Loss(live.model, until_backward(live.step))
    for batch in live.batches:
        claim = ask(module, batch, position)
        if claim:
            return claim
        live.step(batch)
        position.passed(batch)
    return None


def _look_in_trainer(live: Live, position: Any) -> Claim | None:
    compute = live.trainer.compute_loss

    def looked_at(model: Any, inputs: Any, *args: Any, **settings: Any) -> Any:
        def again(batch: Any) -> Any:
            # The Trainer's loss may be returned with outputs; and it empties its batch.
            return compute(model, dict(batch), num_items_in_batch=count)

        count = settings.get("num_items_in_batch", args[1] if len(args) > 1 else None)
        claim = ask(Loss(model, again), inputs, position)
        if claim:
            raise Answered(claim)
        return compute(model, inputs, *args, **settings)

    live.trainer.compute_loss = looked_at
    try:
        position.run()
    except Answered as found:
        return found.claim
    return None


def ask(module: Loss, batch: Any, position: Any = None) -> Claim | None:
    """Ask both functions about one batch; gradients and generators stay as they are."""
    import torchlens

    with _undisturbed(module):
        found = torchlens.debug.find_nan(module, (batch,))
        if found.found:
            place = (found.module_address, found.source_line)
            return _claim(position, "forward", found.func_name, *place, found.message)
    with _undisturbed(module):
        capture = torchlens.options.CaptureOptions(save_grads="all")
        trace = torchlens.trace(module, (batch,), capture=capture)
        trace.log_backward(trace[trace.output_layers[0]].out)
        result = torchlens.debug.bisect_nan_backward(trace)
    if not result.found:
        return None
    birth = result.birth
    if birth is None:
        return _claim(position, "backward", None, None, None, result.message)
    place = (birth.module, birth.source_line)
    return _claim(position, "backward", birth.grad_fn_class, *place, result.message)


def _claim(position: Any, phase: str, op: str | None, *rest: str | None) -> Claim:
    module, line, text = rest
    return Claim(
        step=position.step if position else None,
        micro_batch=position.micro if position else None,
        phase=phase,
        op=op.strip("_") if op else None,
        module=None if op is None else _path(module),
        lines=(line,) if line else (),
        text=(text or "")[:200],
    )


def _path(address: str | None) -> str:
    """Give a module of `Loss` its path in the user's model."""
    if not address or address == "self":
        return OUTSIDE
    return "" if address == ROOT else address.removeprefix(f"{ROOT}.")


@contextlib.contextmanager
def _undisturbed(module: torch.nn.Module) -> Iterator[None]:
    kept = {p: p.grad for p in module.parameters()}
    state = torch.get_rng_state()
    for parameter in kept:
        parameter.grad = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_rng_state(state)
        for parameter, grad in kept.items():
            parameter.grad = grad
