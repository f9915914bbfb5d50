"""The live objects that a checkpoint is made of, and put back into."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.records.errors import AttachError, BadValueError
from ftlab.records.step import StepRecord
from ftlab.replay.checkpoints.contents import Live
from ftlab.replay.checkpoints.lacking import ARGUMENTS, TRAINER_STATE
from ftlab.session.arguments import first_given, several, watchable
from ftlab.session.integrations.transformers import is_trainer
from ftlab.session.observation import Observation, observation_of


@dataclass(frozen=True, slots=True)
class Training:
    """A training between two steps: how many it has made, and what is wrong with it."""

    live: Live
    trainer: Any
    tokenizer: Any
    steps: int
    trouble: str
    seen: Observation | None

    def write_model(self, folder: Path) -> None:
        """Write model, tokenizer and trainer's state as these write themselves."""
        for each in (self.live.model, self.tokenizer):
            if callable(save := getattr(each, "save_pretrained", None)):
                save(folder)
        if self.trainer is not None:
            _state_of(self.trainer).save_to_json(str(folder / TRAINER_STATE))
            text = self.trainer.args.to_json_string()
            (folder / ARGUMENTS).write_text(text, encoding="utf-8")


def training_of(
    target: Any,
    caller: str,
    *,
    optimizer: Any = None,
    scheduler: Any = None,
    scaler: Any = None,
    extra: Any = None,
    seen: Observation | None = None,
) -> Training:
    """Collect what was handed over, and what a trainer or a watch knows besides.

    An AttachError or BadValueError tells what of it cannot be saved.
    """
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
    trouble = "" if seen is None else trouble_of(seen.latest)
    steps = _steps(live, trainer, seen)
    return Training(live, trainer, known.tokenizer, steps, trouble, seen)


def _subject(model: Any, trainer: Any) -> Subject:
    if trainer is None:
        return Subject(model)
    return Subject(
        model,
        [] if trainer.optimizer is None else [trainer.optimizer],
        schedulers=[] if trainer.lr_scheduler is None else [trainer.lr_scheduler],
        scaler=getattr(trainer.accelerator, "scaler", None),
        tokenizer=getattr(trainer, "processing_class", None),
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


def _steps(live: Live, trainer: Any, seen: Observation | None) -> int:
    if trainer is not None:
        return int(trainer.state.global_step)
    if seen is not None:
        return seen.recorder.step
    states = [state for each in live.optimizers for state in each.state.values()]
    return int(max((float(state.get("step", 0)) for state in states), default=0))


def trouble_of(record: StepRecord | None) -> str:
    """Say what was not finite in a step; nothing of one that a scaler has skipped."""
    if record is None or record.skipped:
        return ""
    values = {"loss": record.loss, "norm of the gradients": record.grad_norm}
    bad = ((n, v) for n, v in values.items() if v is not None and not isfinite(v))
    return next((f"the {n} of step {record.step} is {v}" for n, v in bad), "")


def _state_of(trainer: Any) -> Any:
    """Return the trainer's state with that of its callbacks, as it saves it itself."""
    state, kept = copy.copy(trainer.state), dict[str, list[Any]]()
    for each in (*trainer.callback_handler.callbacks, trainer.control):
        if callable(tell := getattr(each, "state", None)):
            kept.setdefault(type(each).__name__, []).append(tell())
    state.stateful_callbacks = {n: v if len(v) > 1 else v[0] for n, v in kept.items()}
    return state
