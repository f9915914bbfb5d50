"""What a Trainer was asked for by its arguments, apart from what they are by default.

A setting that nobody made contradicts nothing: rules compare only what differs from the
default of the arguments' own class, so that what TRL sets by default is not told.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ftlab.probes.plain import jsonable

SETTINGS = (
    "learning_rate",
    "weight_decay",
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "optim",
    "optim_args",
    "lr_scheduler_type",
    "lr_scheduler_kwargs",
    "warmup_steps",
    "warmup_ratio",
    "num_train_epochs",
    "max_steps",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "label_smoothing_factor",
    "beta",
    "gradient_checkpointing_kwargs",
    "eval_steps",
    "eval_delay",
    "save_steps",
    "save_total_limit",
    "logging_steps",
    "metric_for_best_model",
    "bf16_full_eval",
    "fp16_full_eval",
    "completion_only_loss",
    "assistant_only_loss",
)
"""Arguments that another one, or an object handed over, can make idle."""


def asked_settings(args: Any) -> dict[str, Any]:
    """Return the settings that differ from the defaults of their class.

    A mapping has no defaults: all of it was asked for.

    Examples
    --------
    >>> from ftlab.session.integrations.trainer_arguments import asked_settings
    >>> asked_settings({"warmup_steps": 10, "run_name": "mine"})
    {'warmup_steps': 10}
    """
    if isinstance(args, Mapping):
        return {name: jsonable(args[name]) for name in SETTINGS if name in args}
    defaults = _defaults(args)
    told = {n: jsonable(getattr(args, n)) for n in SETTINGS if n in defaults}
    return {name: v for name, v in told.items() if v != defaults[name]}


def _defaults(args: Any) -> dict[str, Any]:
    """Return the default of each field of a dataclass."""
    return {
        field.name: jsonable(_default(field))
        for field in (
            dataclasses.fields(args) if dataclasses.is_dataclass(args) else ()
        )
    }


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default
