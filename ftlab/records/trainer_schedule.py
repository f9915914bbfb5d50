"""The learning-rate schedule that a Trainer's arguments stand for."""

import math
from collections.abc import Mapping
from typing import Any

_NAMES = {
    "linear": "_get_linear_schedule_with_warmup_lr_lambda",
    "cosine": "_get_cosine_schedule_with_warmup_lr_lambda",
    "constant": "_get_constant_lambda",
    "constant_with_warmup": "_get_constant_schedule_with_warmup_lr_lambda",
}
"""The Trainer's schedules that need no further arguments."""


def trainer_schedule(training: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Give the schedule that a Trainer's arguments ask for, as its facts would.

    Parameters
    ----------
    training
        `ftlab.records.facts.Facts.training`.

    Returns
    -------
    mapping
        ``None`` without a Trainer, without a plan, and where more than a type, a
        warm-up and a length make the schedule.
    """
    args, planned = training.get("args") or {}, int(training.get("max_steps") or 0)
    name = _NAMES.get(str(args.get("lr_scheduler_type")))
    if name is None or planned <= 0:
        return None
    warmup = float(args.get("warmup_steps") or args.get("warmup_ratio") or 0.0)
    asked = {
        "schedule": name,
        "num_warmup_steps": int(warmup) if warmup >= 1 else math.ceil(planned * warmup),
        "num_training_steps": planned,
        "num_cycles": 0.5,
    }
    return {"class": "LambdaLR", "asked": asked}
