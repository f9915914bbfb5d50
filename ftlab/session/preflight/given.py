"""What `ftlab.preflight` was given: checked, with errors that name the fix."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ftlab.records.errors import AttachError, BadValueError
from ftlab.records.facts import Facts
from ftlab.rules.words import an
from ftlab.runlog.reader import open_log
from ftlab.runlog.run import Run
from ftlab.session.arguments import several, watchable
from ftlab.session.integrations import trainer_step
from ftlab.session.integrations.transformers import is_trainer
from ftlab.session.observation import is_watched


@dataclass(frozen=True, slots=True)
class Given:
    """The live objects of a run that is about to begin.

    Attributes
    ----------
    args
        A ``TrainingArguments``, or anything with such attributes; may be ``None``.
    step
        The user's loop body; without one the model itself computes the loss.
    """

    model: torch.nn.Module
    optimizers: tuple[Any, ...] = ()
    schedulers: tuple[Any, ...] = ()
    scaler: Any = None
    trainer: Any = None
    step: Callable[[Any], Any] | None = None
    batches: Any = None
    dataset: Any = None
    collator: Any = None
    tokenizer: Any = None
    args: Any = None
    adapter: Path | None = None
    trained_as: Facts | None = None


_TRAINERS_OWN = (
    "model",
    "optimizer",
    "scheduler",
    "scaler",
    "args",
    "step",
)


def given_trainer(trainer: Any, others: Mapping[str, Any]) -> Given:
    """Collect the live objects of a trainer."""
    twice = [name for name in _TRAINERS_OWN if others.get(name) is not None]
    if twice:
        msg = (
            f"preflight() was given a {type(trainer).__name__} and {twice[0]}=; a "
            f"trainer has its own. Omit {twice[0]}=, or pass model= without a trainer."
        )
        raise BadValueError(msg)
    held = vars(trainer).get("training_step")
    if getattr(held, "__module__", "") == trainer_step.__name__:
        msg = (
            f"A debugger holds this {type(trainer).__name__}. Call preflight before "
            "ftlab.debug, or close() the debugger first."
        )
        raise AttachError(msg)
    if trainer.model is None:
        msg = f"The {type(trainer).__name__} has no model; build it with model=."
        raise AttachError(msg)
    return Given(
        model=_unwatched(watchable(trainer.model, "preflight")),
        optimizers=_all(trainer.optimizer, "step", "optimizer"),
        schedulers=_all(trainer.lr_scheduler, "step", "scheduler"),
        trainer=trainer,
        args=trainer.args,
        collator=trainer.data_collator,
        dataset=trainer.train_dataset,
        **_source(others),
        **_origin(others),
        tokenizer=others.get("tokenizer") or getattr(trainer, "processing_class", None),
    )


def given_objects(others: Mapping[str, Any]) -> Given:
    """Collect the live objects of a hand-written loop."""
    if others.get("model") is None:
        msg = (
            "preflight() was given no trainer and no model. Call preflight(trainer), "
            "or preflight(model=model, optimizer=optimizer, batch=batch)."
        )
        raise AttachError(msg)
    step = others.get("step")
    if step is not None and not callable(step):
        msg = f"step={step!r} is not callable; pass a function with your loop's body."
        raise BadValueError(msg)
    return Given(
        model=_unwatched(watchable(others["model"], "preflight")),
        optimizers=_all(others.get("optimizer"), "step", "optimizer"),
        schedulers=_all(others.get("scheduler"), "step", "scheduler"),
        scaler=others.get("scaler"),
        step=step,
        collator=others.get("collator"),
        dataset=others.get("dataset"),
        tokenizer=others.get("tokenizer"),
        args=others.get("args"),
        **_source(others),
        **_origin(others),
    )


def target_of(target: Any, others: Mapping[str, Any]) -> Given:
    """Tell a trainer from a model, and refuse what is neither."""
    if target is None:
        return given_objects(others)
    if is_trainer(target):
        return given_trainer(target, others)
    if isinstance(target, torch.nn.Module):
        if others.get("model") is not None:
            msg = "preflight() was given two models; pass one."
            raise BadValueError(msg)
        return given_objects({**others, "model": target})
    msg = (
        f"preflight() was given {an(type(target).__name__)}; pass a "
        "transformers.Trainer, or model=, optimizer= and a batch."
    )
    raise AttachError(msg)


def _all(value: Any, method: str, what: str) -> tuple[Any, ...]:
    return tuple(several(value, method, what))


def _unwatched(model: torch.nn.Module) -> torch.nn.Module:
    if is_watched(model):
        msg = (
            f"This {type(model).__name__} is being watched, and a dry step would be "
            "recorded as one of its own. Use watch.checklist, or call preflight before "
            "watch."
        )
        raise AttachError(msg)
    return model


def _source(others: Mapping[str, Any]) -> dict[str, Any]:
    """Return what batches come from; ``batch=`` is a list of one."""
    names = [
        name for name in ("batch", "batches", "dataset") if others.get(name) is not None
    ]
    if len(names) > 1:
        msg = (
            f"preflight() was given {names[0]}= and {names[1]}=; pass the one that "
            "training uses."
        )
        raise BadValueError(msg)
    if others.get("batch") is not None:
        return {"batches": [others["batch"]]}
    batches = others.get("batches")
    if batches is None:
        return {}
    if isinstance(batches, Iterator):
        msg = (
            f"batches={an(type(batches).__name__)}, which preflight would exhaust: its "
            "items cannot be read again. Pass the DataLoader, or a list."
        )
        raise BadValueError(msg)
    if not hasattr(batches, "__iter__") or isinstance(batches, str | bytes | Mapping):
        msg = (
            f"batches= is {an(type(batches).__name__)}; pass a DataLoader or a list of "
            "batches, or a single one as batch=."
        )
        raise BadValueError(msg)
    return {"batches": batches}


def _origin(others: Mapping[str, Any]) -> dict[str, Any]:
    """Read where an adapter comes from: its folder, and the run that trained it."""
    adapter, run = others.get("adapter"), others.get("trained_in")
    found: dict[str, Any] = {}
    if adapter is not None:
        found["adapter"] = _folder(adapter)
    if run is not None:
        found["trained_as"] = _facts_of(run)
    return found


def _folder(adapter: Any) -> Path:
    if not isinstance(adapter, str | Path):
        msg = (
            f"adapter={adapter!r} is {an(type(adapter).__name__)}; pass the folder "
            "that the adapter was loaded from."
        )
        raise BadValueError(msg)
    folder = Path(adapter)
    if not folder.is_dir():
        msg = (
            f"adapter={str(adapter)!r} is not a folder on this machine. Pass the "
            "folder with adapter_config.json, or omit adapter=."
        )
        raise BadValueError(msg)
    return folder


def _facts_of(run: Any) -> Facts:
    if isinstance(run, str | Path):
        return open_log(run).facts
    if isinstance(run, Facts):
        return run
    records = getattr(run, "run", run)
    if not isinstance(records, Run):
        msg = (
            f"trained_in={run!r} is not a run; pass its folder, "
            "ftlab.open_run(folder), or that training's watch."
        )
        raise BadValueError(msg)
    return records.facts
