"""The step that a snapshot makes by itself, when its user passes none."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ftlab.executions.pairs import Pair, copied
from ftlab.executions.side import Side
from ftlab.records.errors import BadValueError
from ftlab.replay.snapshots.load import Restorer, Stored, autocast_of, reading
from ftlab.replay.snapshots.optimizer import match_optimizer
from ftlab.replay.snapshots.weights import named
from ftlab.rules.words import an

Step = Callable[[Any], Any]


def modes_of(stored: Stored) -> contextlib.ExitStack:
    """Return the autocast and the grad mode in which the step was called."""
    with reading(stored.path):
        step = stored.manifest["step"]
        if step is None:
            return contextlib.ExitStack()
        stack = autocast_of(step["autocast"])
        stack.enter_context(torch.set_grad_enabled(bool(step["grad_enabled"])))
        return stack


def argument_of(stored: Stored, model: torch.nn.Module) -> Any:
    """Return the step's only argument, or the batch among several."""
    step = stored.manifest["step"]
    if step is None:
        return None
    with reading(stored.path):
        unpacker = stored.unpacker("batch", model)
        args, kwargs = unpacker.unpack(step["inputs"])
        alone = len(args) == 1 and not kwargs
        return args[0] if alone else unpacker.unpack(step["batch"])


def model_step(stored: Stored, model: torch.nn.Module) -> Step:
    """Call the model as the run did, and ``loss.backward()``.

    Raises
    ------
    BadValueError
        When the run did more than that.
    """
    with reading(stored.path):
        step = stored.manifest["step"]
        autocast, scaled = step["model_call"]["autocast"], bool(step["scalers"])
        cleared = bool(step["gradients_cleared"])
        args, kwargs = _model_inputs(stored, step, model)
    device = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(device, enabled=scaled)

    def backward(_: Any) -> torch.Tensor:
        if cleared:
            model.zero_grad()
        with autocast_of(autocast):
            loss = _loss(model(*args, **kwargs))
        scaler.scale(loss).backward()
        return loss.detach()

    return backward


def update_step(
    stored: Stored,
    model: torch.nn.Module,
    optimizers: Sequence[torch.optim.Optimizer],
) -> Step:
    """Let the optimizer step that was stepping.

    Raises
    ------
    AttachError
        When an optimizer is not one of the run.
    BadValueError
        When it is not among ``optimizers``.
    """
    names = {id(p): all_names[0] for all_names, p in named(model)}
    with reading(stored.path):
        entries = stored.manifest["optimizers"]
        wanted = entries[stored.manifest["update"]["optimizer"]]
        kind = str(wanted["class"])
        own = [o for o in optimizers if match_optimizer(entries, o, names) is wanted]
    if not own:
        msg = (
            f"This stop was within a step of {kind}: pass optimizer={kind}(...), "
            "built as in the run over the parameters of the model."
        )
        raise BadValueError(msg)

    def update(_: Any) -> None:
        own[0].step()

    return update


def step_beside(stored: Stored, model: torch.nn.Module) -> Pair:
    """Return the step as it was, on a copy of the model, and as the model makes it now.

    Raises
    ------
    AttachError
        The model is not that of the run.
    BadValueError
        The run did more than call the model once.
    """
    twin = copied(model)
    Restorer(stored, twin, lambda: None, [], update=False).load()
    with reading(stored.path):
        step = stored.manifest["step"]
        if step is None:
            why = "the stop was within an optimizer step"
            raise BadValueError(_needs_step(why))
        then, now = (_side(stored, step, each) for each in (twin, model))
    return Pair(then, now, (f"snapshot {stored.path.name}", "the model"))


def _side(stored: Stored, step: Mapping[str, Any], model: torch.nn.Module) -> Side:
    args, kwargs = _model_inputs(stored, step, model)
    autocast = step["model_call"]["autocast"]
    return Side(
        model, kwargs, lambda: model(*args, **kwargs), lambda: autocast_of(autocast)
    )


def _model_inputs(
    stored: Stored, step: Mapping[str, Any], model: torch.nn.Module
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    call, unpacker = step["model_call"], stored.unpacker("batch", model)
    if call["count"] == 1 and call["inputs"] is not None:
        args, kwargs = unpacker.unpack(call["inputs"])
        return args, kwargs
    batch = unpacker.unpack(step["batch"])
    if call["count"] <= 1 and isinstance(batch, Mapping):
        return (), batch
    why = (
        f"the step called the model {call['count']} times"
        if call["count"] > 1
        else f"the batch is {an(type(batch).__name__)}"
    )
    raise BadValueError(_needs_step(why))


def _loss(output: Any) -> torch.Tensor:
    loss = output.get("loss") if isinstance(output, Mapping) else output
    loss = getattr(output, "loss", loss)
    if isinstance(loss, torch.Tensor) and loss.numel() == 1:
        return loss
    why = f"the model returned {an(type(output).__name__)} without a loss"
    raise BadValueError(_needs_step(why))


def _needs_step(why: str) -> str:
    return (
        f"Without step= the step is model(**batch).loss.backward(), but {why}. "
        "Pass the function that does one step: debug(model, step)."
    )
