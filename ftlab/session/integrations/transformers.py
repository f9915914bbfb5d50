"""`transformers.Trainer`, and what derives from it (TRL's trainers among them).

While linked, ``trainer.train`` is wrapped on the instance. During ``train()`` a
callback begins the observation once the optimizer exists, and hands over evaluations
and the trainer's own step count; it goes when ``train()`` returns or raises.
"""

import functools
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ftlab.probes.plain import readable
from ftlab.probes.subject import Subject
from ftlab.probes.tokenizers.kept_prints import keep_trained
from ftlab.records.errors import FtlabWarning
from ftlab.records.handle import HandleStack, rebind
from ftlab.records.step import Evaluation
from ftlab.records.unbroken import unbroken
from ftlab.session.integrations.given_messages import left_out
from ftlab.session.integrations.given_texts import retold
from ftlab.session.integrations.removed_columns import FirstRow, removed_and_read
from ftlab.session.integrations.trainer_arguments import asked_settings
from ftlab.session.integrations.trainer_made import (
    has_evaluated,
    loader_facts,
    made_facts,
    trainable_dtypes,
)
from ftlab.session.observation import Observation, ended_by
from ftlab.session.out_of_memory import explain_error

Begin = Callable[..., Observation]
Stop = Callable[[str], None]

_ARGUMENTS = (
    "learning_rate",
    "weight_decay",
    "max_grad_norm",
    "lr_scheduler_type",
    "warmup_steps",
    "warmup_ratio",
    "num_train_epochs",
    "per_device_train_batch_size",
    "fp16",
    "bf16",
    "optim",
    "gradient_checkpointing",
    "torch_compile",
    "label_smoothing_factor",
    "output_dir",
    "save_strategy",
    "save_steps",
    "save_total_limit",
    "save_only_model",
    "logging_strategy",
    "logging_steps",
    "report_to",
    "use_cpu",
    "load_best_model_at_end",
    "metric_for_best_model",
    "greater_is_better",
    "eval_strategy",
    "max_length",
    "packing",
    "seed",
    "data_seed",
    "full_determinism",
    "ignore_data_skip",
)


def is_trainer(target: Any) -> bool:
    """Tell whether ``target`` is a transformers Trainer, without importing it."""
    module = sys.modules.get("transformers.trainer")
    return module is not None and isinstance(target, module.Trainer)


class TrainerLink:
    """Keeps ``trainer.train`` and ``trainer.save_model`` wrapped until `remove`.

    What is saved when training is over gets the fingerprint of the run's tokenizer too.

    Parameters
    ----------
    trainer
        The trainer.
    begin, stop
        Begin and end an observation; see `ftlab.session.watch.Watch`.
    """

    def __init__(self, trainer: Any, begin: Begin, stop: Stop) -> None:
        self._trainer = trainer
        self._begin = begin
        self._stop = stop
        self._dtypes = trainable_dtypes(trainer.model)
        self._train = trainer.train
        self._save = trainer.save_model
        self._subject: Subject | None = None
        self._callback: Any = None
        self._handle = HandleStack()
        self._handle.add(rebind(trainer, "train", self._watched_train))
        self._handle.add(rebind(trainer, "save_model", self._watched_save))

    @property
    def model(self) -> Any:
        """The model that the trainer has now."""
        return self._trainer.model

    def remove(self) -> None:
        """Give the trainer its own methods back."""
        self._handle.remove()

    def _begun(self, subject: Subject, **settings: Any) -> Observation:
        self._subject = subject
        return self._begin(subject, **settings)

    def _watched_save(self, *args: Any, **kwargs: Any) -> Any:
        result = self._save(*args, **kwargs)
        folder = args[0] if args else kwargs.get("output_dir")
        if self._subject is not None and self._trainer.args.should_save:
            keep_trained(self._subject, folder or self._trainer.args.output_dir)
        return result

    def _watched_train(self, *args: Any, **kwargs: Any) -> Any:
        before = {"dtypes": self._dtypes, "evaluated": has_evaluated(self._trainer)}
        self._let_go("interrupted")  # of one that could not be ended
        self._callback = _callback(self._trainer, self._begun, self._stop, before)
        self._trainer.add_callback(self._callback)
        ended = "interrupted"
        try:
            result = self._train(*args, **kwargs)
            ended = "finished"
            return result
        except BaseException as error:
            ended = ended_by(error)
            observation = self._callback and self._callback.observation
            explain_error(error, observation, autocast=autocast_of(self._trainer))
            raise
        finally:
            self._let_go(ended)

    def _let_go(self, ended: str) -> None:
        """End the observation of one training, if there is one."""
        with unbroken():
            if self._callback is not None:
                self._callback.first_row.remove()
                self._trainer.remove_callback(self._callback)
                self._callback = None
                self._stop(ended)


def autocast_of(trainer: Any) -> Any:
    """Return the dtype that a trainer's forward computes in; ``None`` for as it is."""
    half = torch.float16 if trainer.args.fp16 else None
    return torch.bfloat16 if trainer.args.bf16 else half


def trainer_subject(trainer: Any) -> Subject:
    """Collect the live objects of a trainer whose training is about to begin."""
    schedulers = [] if trainer.lr_scheduler is None else [trainer.lr_scheduler]
    return Subject(
        trainer.model,
        [] if trainer.optimizer is None else [trainer.optimizer],
        schedulers=[getattr(each, "scheduler", each) for each in schedulers],
        scaler=getattr(trainer.accelerator, "scaler", None),
        tokenizer=getattr(trainer, "processing_class", None),
        training=_training_facts(trainer),
    )


def argument_facts(args: Any) -> dict[str, Any]:
    """Read the arguments that rules and checklists use, of an object or a mapping."""
    read = args.get if isinstance(args, Mapping) else functools.partial(_get, args)
    chosen = {name: read(name) for name in _ARGUMENTS}
    return {name: _plain(value) for name, value in chosen.items() if value is not None}


def _get(args: Any, name: str) -> Any:
    return getattr(args, name, None)


def _plain(value: Any) -> bool | int | float | str:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(getattr(value, "value", value))


def _training_facts(trainer: Any) -> dict[str, Any]:
    args = trainer.args
    return {
        "trainer_class": type(trainer).__name__,
        "args": argument_facts(args),
        "asked": asked_settings(args),
        "made": made_facts(trainer),
        "before": {"evaluated": has_evaluated(trainer)},
        "gradient_accumulation_steps": args.gradient_accumulation_steps,
        "max_steps": trainer.state.max_steps,
        "logging_nan_inf_filter": args.logging_nan_inf_filter,
        **_loss_facts(trainer),
        **readable(columns=lambda: removed_and_read(trainer)).get("columns", {}),
        **readable(messages=lambda: left_out(trainer)).get("messages", {}),
        **readable(texts=lambda: retold(trainer)).get("texts", {}),
    }


def _loss_facts(trainer: Any) -> dict[str, Any]:
    """Tell who computes the loss, and whether it is taken as divided already."""
    owners = [kind for kind in type(trainer).__mro__ if "compute_loss" in vars(kind)]
    module = owners[0].__module__.partition(".")[0] if owners else "transformers"
    return {
        "own_compute_loss": module not in ("transformers", "trl"),
        "compute_loss_func": getattr(trainer, "compute_loss_func", None) is not None,
        "model_accepts_loss_kwargs": bool(
            getattr(trainer, "model_accepts_loss_kwargs", False)
        ),
    }


def _callback(trainer: Any, begin: Begin, stop: Stop, before: dict[str, Any]) -> Any:
    from transformers import TrainerCallback

    class FtlabCallback(TrainerCallback):
        """Begins the observation, and passes on what only the trainer knows."""

        observation: Observation | None = None
        subject: Subject | None = None
        first_row = FirstRow()

        def on_train_begin(
            self,
            args: Any,
            state: Any,
            control: Any,
            train_dataloader: Any = None,
            **_: Any,
        ) -> None:
            if self.observation is not None:  # auto_find_batch_size begins again
                stop("restarted by the trainer")
            try:
                subject = trainer_subject(trainer)
                told = subject.training.update
                told({"before": before, "loader": loader_facts(train_dataloader)})
                told({"resumed": _resumed(args, state)})
                self.first_row.hear(trainer, train_dataloader, told)
                self.subject = subject
                self.observation = begin(subject, first_step=state.global_step)
            except Exception as error:  # noqa: BLE001  training goes on unwatched
                msg = f"This training is not watched: {error}"
                warnings.warn(msg, FtlabWarning, stacklevel=2)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if self.observation is not None:
                self.observation.recorder.trainer_step = state.global_step
                _follow_tokenizer(trainer, self.subject)

        def on_evaluate(
            self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any
        ) -> None:
            if self.observation is not None and metrics:
                numbers = {k: float(v) for k, v in metrics.items() if _is_number(v)}
                step = self.observation.recorder.step
                self.observation.background.put(Evaluation(step, time.time(), numbers))

    return FtlabCallback()


def _follow_tokenizer(trainer: Any, subject: Subject | None) -> None:
    """Look at the tokenizer that the trainer has now: it may be another one."""
    if subject is not None:
        subject.tokenizer = getattr(trainer, "processing_class", subject.tokenizer)


def _resumed(args: Any, state: Any) -> dict[str, Any]:
    """Tell where a training goes on that was resumed; nothing for one that begins."""
    if not state.global_step:
        return {}
    return {
        "step": state.global_step,
        "epoch": float(state.epoch or 0.0),
        "skips": not args.ignore_data_skip,
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
