"""Dry steps of a transformers Trainer: its own training_step on its own objects.

What ``train()`` would make is made here (optimizer, scheduler, accelerate's wrapping)
and forgotten when everything is put back. Callbacks are not told: they would open runs
of trackers and write files.
"""

import logging
import math
import sys
from collections.abc import Callable
from typing import Any

from ftlab.records.errors import NotReplayableError
from ftlab.session.integrations.trainer_step import refuse_trainer


def owners_of(trainer: Any) -> list[Any]:
    """List the objects that making a trainer's optimizer and steps may move."""
    accelerator = trainer.accelerator
    state = accelerator.state
    found = [
        trainer,
        trainer.callback_handler,
        accelerator,
        state,
        accelerator.gradient_state,
        getattr(state, "dynamo_plugin", None),
        *_configs(trainer),
        *_bitsandbytes(),
    ]
    return [each for each in found if each is not None]


def _configs(trainer: Any) -> list[Any]:
    """Return what `_align_tokens` writes to."""
    config = getattr(trainer.model, "config", None)
    text = getattr(config, "get_text_config", lambda: None)()
    return [config, text, getattr(trainer.model, "generation_config", None)]


def _bitsandbytes() -> list[Any]:
    """Return what bitsandbytes notes of embeddings, process-wide."""
    module = sys.modules.get("bitsandbytes.optim.optimizer")
    manager = getattr(module, "GlobalOptimManager", None)
    return [] if manager is None else [manager.get_instance()]


def why_not(trainer: Any) -> str:
    """Say why a trainer's step cannot be tried, ``""`` where it can."""
    if getattr(trainer, "reward_funcs", None):
        return (
            f"a step of {type(trainer).__name__} generates text and calls your reward "
            "functions, which preflight does not do by default"
        )
    try:
        refuse_trainer(trainer)
    except NotReplayableError as error:
        return str(error)
    return ""


def planned_steps(trainer: Any) -> int:
    """Return how many optimizer steps ``train()`` will make; 0 where unknown."""
    args = trainer.args
    if args.max_steps > 0:
        return int(args.max_steps)
    try:
        batches = len(trainer.get_train_dataloader())
    except (TypeError, ValueError):  # a stream, or no dataset
        return 0
    updates = max(math.ceil(batches / args.gradient_accumulation_steps), 1)
    return math.ceil(args.num_train_epochs * updates)


def prepare(trainer: Any, steps: int) -> Any:
    """Make optimizer and scheduler as ``train()`` does; return the prepared model.

    A compiled model is tried uncompiled: compiling takes longer than all else here.
    """
    accelerator = trainer.accelerator
    plugin = getattr(accelerator.state, "dynamo_plugin", None)
    if plugin is not None:
        plugin.backend = type(plugin.backend)("NO")
    if getattr(trainer, "_created_lr_scheduler", False):
        trainer.lr_scheduler = None  # of an earlier train(), which makes another
    _checkpoint(trainer)
    _align_tokens(trainer)
    trainer.create_optimizer()
    model, trainer.optimizer = accelerator.prepare(trainer.model, trainer.optimizer)
    trainer.create_scheduler(num_training_steps=max(steps, 1))
    return model


def _checkpoint(trainer: Any) -> None:
    """Switch checkpointing on as ``train()`` does before the first step.

    transformers 5 calls it activation checkpointing, and has arguments of its own.
    """
    args, model = trainer.args, trainer.model
    for kind in ("activation_checkpointing", "gradient_checkpointing"):
        enable = getattr(model, f"{kind}_enable", None)
        if getattr(args, kind, False) and enable is not None:
            given = dict(getattr(args, f"{kind}_kwargs", None) or {})
            own = {k: given.pop(k) for k in ("every_n_layers", "offload") if k in given}
            enable(**{f"{kind}_kwargs": given or None}, **own)
            return


def _align_tokens(trainer: Any) -> None:
    """Give the configs the tokenizer's special tokens, as ``train()`` does at first.

    In silence: ``train()`` will say so. transformers 4 has a method for it.
    """
    from transformers import PreTrainedTokenizerBase, ProcessorMixin

    tokenizer = getattr(trainer, "processing_class", None)
    if not isinstance(tokenizer, PreTrainedTokenizerBase | ProcessorMixin):
        return
    if not hasattr(trainer.model, "config"):
        return
    own = getattr(trainer, "_align_special_tokens", None)
    align = getattr(
        sys.modules.get("transformers.trainer"), "align_special_tokens", None
    )
    loggers = [logging.getLogger(f"transformers.trainer{e}") for e in ("", "_utils")]
    before = [each.disabled for each in loggers]
    try:
        for each in loggers:
            each.disabled = True
        if own is not None:
            own()
        elif align is not None:
            align(trainer.model, tokenizer)
    finally:
        for each, disabled in zip(loggers, before, strict=True):
            each.disabled = disabled


def trainer_step(trainer: Any, model: Any) -> Callable[[Any], Any]:
    """Return one micro-batch and the update after it, as the trainer's loop does."""
    accelerator, args = trainer.accelerator, trainer.args

    def step(batch: Any) -> Any:
        samples, count = trainer.get_batch_samples(iter([batch]), 1, args.device)
        trainer.current_gradient_accumulation_steps = 1
        accelerator.gradient_state._set_sync_gradients(True)  # noqa: SLF001  as its loop
        model.zero_grad()
        loss = trainer.training_step(model, samples[0], count)
        if args.max_grad_norm:
            accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
        trainer.optimizer.step()
        skipped = accelerator.optimizer_step_was_skipped
        if not skipped and not hasattr(trainer.lr_scheduler, "mode"):
            trainer.lr_scheduler.step()
        return loss

    return step
