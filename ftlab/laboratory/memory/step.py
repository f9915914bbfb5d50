"""One training step under a `Meter`: rehearsed without values, or executed."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.executions.pairs import checkpointed, side, training
from ftlab.executions.side import loss_of, undisturbed
from ftlab.laboratory.carriers import carriers
from ftlab.laboratory.memory.meter import Head, Meter
from ftlab.laboratory.memory.optimizers import MakeOptimizer, made_state
from ftlab.laboratory.memory.valueless import Valueless
from ftlab.probes.holding.heap import bytes_in_use, is_exact
from ftlab.records.errors import BadValueError
from ftlab.records.memory import StepMemory
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.tracing.modules import ModuleStack, clean_name


@dataclass(frozen=True, slots=True)
class StepPlan:
    """How a step is made.

    Attributes
    ----------
    optimizer
        Makes one for parameters; ``None`` for a step that ends with backward.
    checkpointing
        Whether activations are computed again; ``None`` for as it is set.
    autocast
        The dtype that the forward computes in; ``None`` for as it is.
    dtype
        Of the weights, in the place of theirs; rehearsed only.
    accumulating
        Whether gradients of an earlier micro-batch are there.
    """

    optimizer: MakeOptimizer | None
    checkpointing: bool | None = None
    autocast: torch.dtype | None = None
    dtype: torch.dtype | None = None
    accumulating: bool = False


def rehearsed(
    model: torch.nn.Module, batch: Mapping[str, Any], plan: StepPlan
) -> StepMemory:
    """Return the memory of a step that is made of shapes alone.

    The model may be on the meta device: it is taken to be on the CPU then.
    """
    device = next(model.parameters()).device
    there = torch.device("cpu") if device.type == "meta" else device
    maker = Valueless(there, plan.dtype)
    own = _adapters(model)
    rng = RngState.take()
    try:
        with warnings.catch_warnings(action="ignore"):
            twin = maker.copied(model)
            given = {
                key: maker.tensor(value) if isinstance(value, torch.Tensor) else value
                for key, value in batch.items()
            }
            with maker.running(), training(twin):
                return _step(twin, given, plan, own)
    finally:
        rng.restore()


def executed(
    model: torch.nn.Module, batch: Mapping[str, Any], plan: StepPlan
) -> StepMemory:
    """Return the memory of a step that is made, and leave the model as it was.

    Trained weights are copied for that, and the optimizer is one of its own.
    """
    exact = is_exact() or next(model.parameters()).is_cuda
    frozen = [(p, p.requires_grad) for p in model.parameters()]
    with (
        undisturbed(side(model, batch)) as start,
        torch.compiler.set_stance("force_eager"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # checkpointing without gradients warns
        try:
            with _lent(model), training(model), torch.enable_grad():
                heap = bytes_in_use if exact else None
                return _step(model, batch, plan, _adapters(model), heap)
        finally:
            start.restore_modules()
            for parameter, was in frozen:
                parameter.requires_grad_(was)


@contextlib.contextmanager
def _lent(model: torch.nn.Module) -> Iterator[None]:
    """Put copies in the place of trained weights; no gradient is there meanwhile.

    The weights themselves are not written to: a graph that waits for its backward would
    refuse them.
    """
    places = [
        (module, name, parameter)
        for module in model.modules()
        for name, parameter in module.named_parameters(recurse=False)
    ]
    copies: dict[int, torch.nn.Parameter] = {}
    grads = {id(p): (p, p.grad) for _, _, p in places}
    try:
        for parameter, _ in grads.values():
            parameter.grad = None
        for module, name, parameter in places:
            if parameter.requires_grad:
                copied = torch.nn.Parameter(parameter.detach().clone())
                setattr(module, name, copies.setdefault(id(parameter), copied))
        yield
    finally:
        for module, name, parameter in places:
            setattr(module, name, parameter)
        for parameter, grad in grads.values():
            parameter.grad = grad


def _step(
    model: Any,
    batch: Mapping[str, Any],
    plan: StepPlan,
    own: set[str],
    heap: Callable[[], float] | None = None,
) -> StepMemory:
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = None
    if plan.optimizer is not None and trained:
        optimizer = made_state(plan.optimizer, trained)
    for parameter in trained if plan.accumulating else ():
        parameter.grad = torch.zeros_like(parameter)
    with (
        checkpointed(model, plan.checkpointing),
        ModuleStack(model) as modules,
        Meter(modules, _head(model), heap) as meter,
    ):
        _hold(meter, model, batch, own)
        _hold_state(meter, optimizer)
        meter.begin("forward")
        device = next(model.parameters()).device.type
        cast = plan.autocast and torch.autocast(device, plan.autocast)
        with cast or contextlib.nullcontext():
            loss = loss_of(model(**batch))
        if loss is None:
            msg = (
                "the batch has no labels, so there is no loss; pass one that has, or "
                "a size: memory(model, batch=(4, 512))."
            )
            raise BadValueError(msg)
        meter.begin("backward")
        if loss.requires_grad:
            loss.backward()
        for parameter in trained:
            meter.hold(parameter.grad, "gradients")
        meter.begin("update")
        if optimizer is not None:
            optimizer.step()
            _hold_state(meter, optimizer)
        return meter.finish()


def _hold(meter: Meter, model: Any, batch: Mapping[str, Any], own: set[str]) -> None:
    """Note what is there before the step."""
    for name, parameter in model.named_parameters():
        meter.hold(parameter, "adapters" if name in own else "weights", name)
        meter.hold(parameter.grad, "gradients", name)
    for name, buffer in model.named_buffers():
        meter.hold(buffer, "weights", name)
    for name, value in batch.items():
        meter.hold(value, "batch", name)


def _hold_state(meter: Meter, optimizer: Any) -> None:
    for held in optimizer.state.values() if optimizer is not None else ():
        for name, value in held.items() if isinstance(held, Mapping) else ():
            meter.hold(value, "optimizer state", str(name))


def _adapters(model: torch.nn.Module) -> set[str]:
    """Name the parameters that adapters have put there."""
    held = {
        id(p) for each in carriers(model) for ps in each.adapters.values() for p in ps
    }
    return {name for name, p in model.named_parameters() if id(p) in held}


def _head(model: Any) -> Head:
    """Return how logits are known: by their size, in the head or around it."""
    with contextlib.suppress(Exception):  # a model of one's own need not have it
        head = model.get_output_embeddings()
        name = next(n for n, m in model.named_modules() if m is head)
        parts = clean_name(name).split(".")
        around = {".".join(parts[:end]) for end in range(len(parts) + 1)}
        return Head(int(head.weight.shape[0]), frozenset(around))
    return Head(0, frozenset())


def sized(rows: int, length: int) -> dict[str, torch.Tensor]:
    """Return a batch of that many rows and tokens, without padding."""
    ids = torch.ones(rows, length, dtype=torch.int64)
    return {"input_ids": ids, "attention_mask": ids.clone(), "labels": ids.clone()}
