"""``warmup_steps=100`` of a Trainer that makes eight steps.

The scheduler is made for ``max_steps``, and ``warmup_steps`` is taken as it is.

Fix: ``warmup_steps=0.05``: below 1 it is a share of the run.
Source: transformers, TrainingArguments.get_warmup_steps.
"""

from ftlab.faults.builders import Case, Fault, lora, trained


def build(fixed: bool) -> Case:
    """Build a Trainer whose warm-up is not over at its end."""
    return trained(lora(), max_steps=8, warmup_steps=2 if fixed else 100)


FAULT = Fault(
    "the learning rate of a Trainer never comes near what was asked for",
    code="OPT011",
    places=("config warmup_steps",),
    steps=8,
    evident=-1,
)
