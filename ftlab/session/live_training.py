"""The live objects that a checkpoint is made of, and put back into."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

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
    """A training between two steps.

    Attributes
    ----------
    steps
        How many it has made; ``None`` where that is not known.
    trouble
        What was not finite in the last step, as far as that was recorded.
    observation
        Its watch, if there is one.
    """

    live: Live
    trainer: Any = None
    tokenizer: Any = None
    steps: int | None = None
    trouble: str = ""
    observation: Observation | None = None

    def write_model(self, folder: Path) -> None:
        """Write model, tokenizer and trainer's state as these write themselves."""
        for each in (self.live.model, self.tokenizer):
            save = getattr(each, "save_pretrained", None)
            if callable(save):
                save(folder)
        if self.trainer is not None:
            _state_of(self.trainer).save_to_json(str(folder / TRAINER_STATE))
            text = self.trainer.args.to_json_string()
            (folder / ARGUMENTS).write_text(text, encoding="utf-8")

    @property
    def workers(self) -> int | None:
        """How many processes load its data; ``None`` where that is not known."""
        if is_trainer(self.trainer):
            return int(self.trainer.args.dataloader_num_workers)
        workers: int | None = getattr(self.live.loader, "num_workers", None)
        return workers


def training_of(
    target: Any,
    optimizer: Any = None,
    scheduler: Any = None,
    scaler: Any = None,
    *,
    caller: str,
    loader: Any = None,
    extra: Any = None,
    seen: Observation | None = None,
) -> Training:
    """Collect what was handed over, and what a trainer or a watch knows besides.

    Raises
    ------
    AttachError
        It is no model, or one that others keep in shards.
    BadValueError
        An argument is not what it must be.
    """
    if extra is not None and not isinstance(extra, Mapping):
        msg = f"extra={extra!r:.80} is no dictionary; pass extra={{'epoch': 2}}."
        raise BadValueError(msg)
    trainer = target if is_trainer(target) else None
    model = innermost(watchable(target if trainer is None else trainer.model, caller))
    _refuse_shards(model, trainer, caller)
    owner = getattr(trainer, "model", target)
    seen = seen or observation_of(model) or observation_of(owner)
    if seen is not None:
        seen.recorder.catch_up()
        seen.background.drain()
    optimizers = several(optimizer, "step", "optimizer") or _known(trainer, seen)
    schedulers = several(scheduler, "step", "scheduler") or _schedulers(trainer, seen)
    known = trainer.accelerator if trainer is not None else seen and seen.subject
    live = Live(
        model,
        tuple(map(unwrapped, optimizers)),
        tuple(getattr(each, "scheduler", each) for each in schedulers),
        first_given(scaler, getattr(known, "scaler", None)),
        loader,
        dict(extra or {}),
    )
    tokenizer = getattr(trainer, "processing_class", None)
    tokenizer = first_given(tokenizer, seen and seen.subject.tokenizer)
    return Training(live, trainer, tokenizer, *_progress(live, trainer, seen), seen)


def _refuse_shards(model: torch.nn.Module, trainer: Any, caller: str) -> None:
    wrapped = getattr(trainer, "is_deepspeed_enabled", False) or getattr(
        trainer, "is_fsdp_enabled", False
    )
    if wrapped or any(type(p).__name__ == "DTensor" for p in model.parameters()):
        msg = (
            f"{caller}() was given {type(model).__name__} in shards (FSDP or "
            "DeepSpeed), of which each process has one. Save it with the trainer's "
            "save_strategy, or with torch.distributed.checkpoint."
        )
        raise AttachError(msg)


def _known(trainer: Any, seen: Observation | None) -> tuple[Any, ...]:
    if trainer is not None:
        return () if trainer.optimizer is None else (trainer.optimizer,)
    return () if seen is None else tuple(seen.subject.live_optimizers.values())


def _schedulers(trainer: Any, seen: Observation | None) -> tuple[Any, ...]:
    if trainer is not None:
        return () if trainer.lr_scheduler is None else (trainer.lr_scheduler,)
    found = () if seen is None else seen.subject.schedulers
    return tuple(each for each in found if callable(getattr(each, "state_dict", None)))


def _progress(
    live: Live, trainer: Any, seen: Observation | None
) -> tuple[int | None, str]:
    """Return how many steps were made, and what was wrong with the last one."""
    trouble = "" if seen is None else trouble_of(_last(seen))
    if trainer is not None:
        return int(trainer.state.global_step), trouble
    if seen is not None:
        return seen.run.last_step + 1, trouble
    counts = [
        float(state["step"])
        for each in live.optimizers
        for state in each.state.values()
        if isinstance(state, Mapping) and "step" in state
    ]
    return int(max(counts)) if counts else None, trouble


def _last(seen: Observation) -> StepRecord:
    """Return what tells whether the last step was a good one."""
    steps = seen.run.steps
    if not len(steps):
        return StepRecord(0, 0.0)
    loss, norm = (
        float(steps[name][-1]) if steps.known(name)[-1] else None
        for name in ("loss", "grad_norm")
    )
    skipped = bool(steps["skipped"][-1])
    return StepRecord(
        int(steps.step[-1]), 0.0, loss=loss, grad_norm=norm, skipped=skipped
    )


def trouble_of(record: StepRecord) -> str:
    """Say what was not finite in a step; nothing of one that a scaler has skipped."""
    values = {"loss": record.loss, "norm of the gradients": record.grad_norm}
    for name, value in {} if record.skipped else values.items():
        if value is not None and value - value != 0:
            return f"the {name} of step {record.step} is {value}"
    return ""


def _state_of(trainer: Any) -> Any:
    """Return the trainer's state with that of its callbacks, as it saves it itself."""
    state = copy.copy(trainer.state)
    kept: dict[str, list[Any]] = {}
    for each in (*trainer.callback_handler.callbacks, trainer.control):
        tell = getattr(each, "state", None)
        if callable(tell):
            kept.setdefault(type(each).__name__, []).append(tell())
    state.stateful_callbacks = {n: v if len(v) > 1 else v[0] for n, v in kept.items()}
    return state
