"""``reduce_lr_on_plateau`` of a Trainer whose metric is an accuracy.

The scheduler's ``mode`` is "min" whatever ``greater_is_better`` says: each evaluation
that is better than the last one counts as a bad one.

Fix: ``lr_scheduler_kwargs={"mode": "max"}``.
Source: transformers, get_reduce_on_plateau_schedule, which passes the kwargs alone.
"""

import math
from dataclasses import replace

from ftlab.faults.builders import Case, Fault, chosen_by, current, lora, varied


def build(fixed: bool) -> Case:
    """Build a Trainer that waits for a plateau of an accuracy."""
    mode = "max" if fixed else "min"
    # The best adapter of another name is not found at all: that is ADP035's fault.
    with varied(replace(current(), adapter="default")):
        return chosen_by(
            "accuracy",
            lambda loss: math.exp(-loss),
            lora(),
            greater_is_better=True,
            lr_scheduler_type="reduce_lr_on_plateau",
            lr_scheduler_kwargs={"mode": mode, "patience": 0},
        )


FAULT = Fault(
    "the rate falls though each evaluation is better",
    code="OPT017",
    places=("config mode",),
    steps=8,
    evident=-1,
)
