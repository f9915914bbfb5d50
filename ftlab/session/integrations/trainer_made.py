"""What a Trainer has made of its arguments: its loader, its loss, its plan to evaluate.

Read of the live trainer, or of the code that it runs where the answer lies there.
Nothing is called that training would not call.
"""

import functools
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

from ftlab.probes.plain import dtype_name, readable
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.records.attributes import attribute_of, has_attribute

OWN_LOSS, UNSHIFTED, APPLIED = "own-loss", "unshifted", "applied"
"""What becomes of label smoothing."""

_LIBRARIES = ("transformers", "trl", "ftlab")


def made_facts(trainer: Any) -> dict[str, Any]:
    """Tell what rules compare with the settings that were asked for."""
    return readable(
        smoothing=lambda: _smoothing(trainer),
        collator=lambda: type(trainer.data_collator).__module__,
        patience=lambda: _patience(trainer),
        evaluates_at_end=_evaluates_at_end,
        own_evaluation=lambda: _evaluates_itself(trainer),
        searched=lambda: bool(trainer.state.is_hyper_param_search),
        rows=lambda: len(trainer.train_dataset),
        batch_size=lambda: int(trainer._train_batch_size),  # noqa: SLF001  no other tells
        dtypes=lambda: trainable_dtypes(trainer.model),
        config_dtype=lambda: _config_dtype(trainer.model),
        own_rates=lambda: _chooses_rates(trainer),
        settings=lambda: _optimizer_settings(trainer),
    )


def loader_facts(loader: Any) -> dict[str, Any]:
    """Tell how many batches of which size a loader gives; what it hides is absent."""
    size = getattr(loader, "batch_size", None)
    if size is None:
        size = getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    facts = readable(batches=lambda: len(loader))
    return facts | ({"batch_size": size} if isinstance(size, int) else {})


def has_evaluated(trainer: Any) -> bool:
    """Tell whether evaluations were logged; training begins a log of its own."""
    history = getattr(getattr(trainer, "state", None), "log_history", ())
    return any(name.startswith("eval_") for entry in history for name in entry)


def trainable_dtypes(model: Any) -> list[str]:
    """Name the dtypes of what is trained."""
    found = {dtype_name(p.dtype) for p in model.parameters() if p.requires_grad}
    return sorted(found)


# -- the loss


def _smoothing(trainer: Any) -> str:
    """Tell what becomes of label smoothing; ``""`` where it is off or unknown."""
    if trainer.label_smoother is None:
        return ""
    if trainer.compute_loss_func is not None:
        return OWN_LOSS
    own = list(_own_methods(type(trainer)))
    if _module(trainer.compute_loss) != "transformers.trainer":
        names = set(_names(trainer.compute_loss.__func__.__code__))
        further = {n for each in own for n in _names(each.__code__)}
        applied = "compute_loss" in names or "label_smoother" in names | further
        return "" if applied else OWN_LOSS
    return _shifted(trainer)


def _shifted(trainer: Any) -> str:
    """Tell whether the smoothed loss predicts the same token as the model's own.

    The Trainer shifts where the model's class is one of its list of causal models; the
    model's own loss does where its loss function is that of one.
    """
    from transformers.loss.loss_utils import ForCausalLMLoss
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    )

    model = trainer.accelerator.unwrap_model(trainer.model)
    base = model.get_base_model() if has_attribute(model, "peft_config") else model
    named = model.base_model.model if has_attribute(model, "peft_config") else model
    if type(named).__name__ in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
        return APPLIED
    shifts = base.loss_function is ForCausalLMLoss
    encoded = getattr(base.config, "is_encoder_decoder", False)
    forward = inspect.unwrap(type(base).forward)
    usual = "loss_function" in set(_names(forward.__code__))
    return UNSHIFTED if shifts and usual and not encoded else ""


def _own_methods(kind: type) -> Iterator[FunctionType]:
    """Yield the methods of the classes between this one and transformers' Trainer."""
    for each in kind.__mro__:
        if each.__module__ == "transformers.trainer":
            return
        yield from (m for m in vars(each).values() if inspect.isfunction(m))


def _names(code: CodeType) -> Iterator[str]:
    """Yield every name that a function, or a function in it, looks up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _module(function: Any) -> str:
    return str(getattr(function, "__module__", ""))


# -- the plan


@functools.cache
def _evaluates_at_end() -> bool:
    """Ask the Trainer's own callback whether the last step evaluates out of turn."""
    from transformers import TrainerControl
    from transformers.trainer_callback import DefaultFlowCallback
    from transformers.trainer_utils import IntervalStrategy

    off = IntervalStrategy.NO
    args = SimpleNamespace(
        logging_first_step=False,
        logging_strategy=off,
        save_strategy=off,
        eval_strategy=IntervalStrategy.STEPS,
        eval_delay=0,
    )
    state = SimpleNamespace(
        global_step=1, max_steps=1, eval_steps=2, save_steps=2, logging_steps=2
    )
    control = DefaultFlowCallback().on_step_end(args, state, TrainerControl())
    return bool(control.should_evaluate)


def _evaluates_itself(trainer: Any) -> bool:
    """Tell whether a callback or method of the user's might ask for evaluations."""
    callbacks = [type(each) for each in trainer.callback_handler.callbacks]
    own = [each for each in callbacks if not _is_library(each)]
    methods = [
        *(m for each in own for m in vars(each).values() if inspect.isfunction(m)),
        *(m for m in _own_methods(type(trainer)) if not _is_library(m)),
    ]
    names = {name for each in methods for name in _names(each.__code__)}
    return bool(names & {"should_evaluate", "evaluate"})


def _is_library(thing: Any) -> bool:
    return _module(thing).partition(".")[0] in _LIBRARIES


def _patience(trainer: Any) -> list[int]:
    """Return the patience of each callback that stops early."""
    return [
        int(each.early_stopping_patience)
        for each in trainer.callback_handler.callbacks
        if hasattr(each, "early_stopping_patience")
    ]


# -- the optimizer and the model


def _chooses_rates(trainer: Any) -> bool:
    """Tell whether the optimizer computes its rates itself (Adafactor's way)."""
    groups = getattr(unwrapped(trainer.optimizer), "param_groups", [])
    return any(group.get("relative_step") is True for group in groups)


def _optimizer_settings(trainer: Any) -> dict[str, Any]:
    """Return the plain values of the first group, and the betas one by one."""
    group = unwrapped(trainer.optimizer).param_groups[0]
    plain = {k: v for k, v in group.items() if isinstance(v, bool | int | float | str)}
    betas = {f"beta{i + 1}": b for i, b in enumerate(group.get("betas", ()))}
    eps = group.get("eps")
    return plain | betas | ({"eps": list(eps)} if isinstance(eps, tuple) else {})


def _config_dtype(model: Any) -> str:
    config = attribute_of(model, "config")
    dtype = getattr(config, "dtype", None) or getattr(config, "torch_dtype", None)
    return "" if dtype is None else str(dtype).removeprefix("torch.")
