"""A schedule that ends six steps before a run of 200: remainders of epochs.

``len(rows) // size`` leaves out the last, smaller batch of each epoch.
"""

from ftlab.faults.builders import Case, Healthy, adamw, loop_case, lora
from ftlab.faults.builders.trainers import STEPS


def build() -> Case:
    """Build LoRA under a linear schedule that is slightly too short."""
    from transformers import get_scheduler

    model = lora()
    optimizer = adamw(model, lr=5e-3)
    scheduler = get_scheduler("linear", optimizer, 10, STEPS - 6)
    return loop_case(model, optimizer, scheduler=scheduler)


HEALTHY = Healthy(
    "the last updates have a rate of 0",
    looks_like=("OPT011",),
)
