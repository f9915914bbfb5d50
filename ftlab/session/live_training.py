"""The live objects that a checkpoint is made of, and put back into."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.records.errors import AttachError, BadValueError
from ftlab.records.step import StepRecord
from ftlab.replay.checkpoints.contents import Live
from ftlab.session.arguments import first_given, several, watchable
from ftlab.session.integrations.transformers import is_trainer
from ftlab.session.observation import Observation, observation_of


@dataclass(frozen=True, slots=True)
class Training:
    """A training: the steps it made, what is wrong, and how many gradients wait."""

    live: Live
    trainer: Any
    tokenizer: Any
    steps: int
    trouble: str
    seen: Observation | None
    pending: int


def training_of(
    target: Any,
    caller: str,
    *,
    optimizer: Any = None,
    scheduler: Any = None,
    scaler: Any = None,
    extra: Any = None,
    seen: Observation | None = None,
    **unknown: Any,
) -> Training:
    """Collect what was handed over, and what a trainer or a watch knows besides.

    An AttachError or BadValueError tells what of it cannot be saved.
    """
    for name in unknown:
        msg = (
            f"{caller}({name}=...): what belongs to a training is passed as optimizer= "
            f"and scheduler=, one or several of each, scaler= and extra=."
        )
        raise BadValueError(msg)
    if not isinstance(extra, Mapping | None):
        msg = f"extra={extra!r:.80} is no dictionary; pass extra={{'epoch': 2}}."
        raise BadValueError(msg)
    trainer = target if is_trainer(target) else None
    owner = watchable(target if trainer is None else trainer.model, caller)
    _refuse_shards(owner, trainer, caller)
    seen = seen or observation_of(owner)
    if seen is not None:
        seen.recorder.catch_up()
    known = _subject(owner, trainer) if seen is None else seen.subject
    optimizers = several(optimizer, "step", "optimizer")
    syncs = (getattr(each, "gradient_state", None) for each in optimizers)
    waits = any(getattr(each, "sync_gradients", True) is False for each in syncs)
    waits |= trainer is not None or (seen is not None and seen.recorder.accumulating)
    schedulers = several(scheduler, "step", "scheduler") or known.schedulers
    inner = (getattr(each, "scheduler", each) for each in schedulers)
    scaled = first_given(scaler, known.scaler)
    live = Live(
        innermost(owner),
        tuple(map(unwrapped, optimizers or known.live_optimizers.values())),
        tuple(each for each in inner if hasattr(each, "load_state_dict")),
        (scaled,) if scaled is not None and scaled.is_enabled() else (),
        extra or {},
    )
    states = [state for each in live.optimizers for state in each.state.values()]
    named = [state for state in states if isinstance(state, Mapping)]
    steps = int(max((float(state.get("step", 0)) for state in named), default=0))
    steps = steps if seen is None else seen.recorder.step
    steps = steps if trainer is None else int(trainer.state.global_step)
    trouble = "" if seen is None else trouble_of(seen.latest)
    pending = sum(map(_has_gradient, live.model.parameters())) if waits else 0
    return Training(live, trainer, known.tokenizer, steps, trouble, seen, pending)


def _has_gradient(parameter: Any) -> bool:
    grad = parameter.grad if parameter.is_leaf else None
    return grad is not None and bool(grad.is_sparse or grad.any())


def _subject(model: Any, trainer: Any) -> Subject:
    names = ("optimizer", "lr_scheduler", "accelerator", "processing_class")
    optimizer, scheduler, accelerator, tokenizer = (
        getattr(trainer, name, None) for name in names
    )
    return Subject(
        model,
        [] if optimizer is None else [optimizer],
        schedulers=[] if scheduler is None else [scheduler],
        scaler=getattr(accelerator, "scaler", None),
        tokenizer=tokenizer,
    )


def _refuse_shards(model: Any, trainer: Any, caller: str) -> None:
    flags = ("is_deepspeed_enabled", "is_fsdp_enabled")
    kinds = {type(parameter).__name__ for parameter in model.parameters()}
    if "DTensor" in kinds or any(getattr(trainer, flag, False) for flag in flags):
        msg = (
            f"{caller}() was given a {type(model).__name__} in shards (FSDP, DeepSpeed)"
            "; save it with the trainer, or with torch.distributed.checkpoint."
        )
        raise AttachError(msg)


def trouble_of(record: StepRecord | None) -> str:
    """Say what was not finite in a step; nothing of one that a scaler has skipped."""
    if record is None or record.skipped:
        return ""
    values = {"loss": record.loss, "norm of the gradients": record.grad_norm}
    bad = ((n, v) for n, v in values.items() if v is not None and not isfinite(v))
    return next((f"the {n} of step {record.step} is {v}" for n, v in bad), "")


def state_of(trainer: Any) -> Any:
    """Return the trainer's state with that of its callbacks, as it saves it itself."""
    state, kept = copy.copy(trainer.state), dict[str, list[Any]]()
    for each in (*trainer.callback_handler.callbacks, trainer.control):
        if callable(tell := getattr(each, "state", None)):
            kept.setdefault(type(each).__name__, []).append(tell())
    state.stateful_callbacks = {n: v if len(v) > 1 else v[0] for n, v in kept.items()}
    return state
