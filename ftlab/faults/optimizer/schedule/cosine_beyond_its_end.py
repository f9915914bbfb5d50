"""A cosine of transformers that is stepped beyond its end, and rises.

The formula has no bound at ``num_training_steps``: behind it the rate climbs back to
where it began.

Fix: plan the schedule as long as the run.
Source: transformers/optimization.py, get_cosine_schedule_with_warmup.
"""

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora

PLANNED, MADE = 5, 10


def build(fixed: bool) -> Case:
    """Build a cosine over half the run, or over all of it."""
    from transformers import get_scheduler

    model = lora()
    optimizer = adamw(model, lr=1e-2)
    scheduler = get_scheduler("cosine", optimizer, 0, MADE if fixed else PLANNED)
    return loop_case(model, optimizer, scheduler=scheduler)


FAULT = Fault(
    "the rate falls to 0 and comes back",
    code="OPT011",
    places=("config num_training_steps",),
    steps=MADE,
    evident=7,
)
