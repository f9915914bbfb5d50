"""Warm-up from a learning rate of 0, then a cosine to 0.

The first update changes nothing, and the last ones change next to nothing.
"""

from ftlab.faults.builders import Case, Healthy, adamw, loop_case, lora
from ftlab.faults.builders.trainers import STEPS


def build() -> Case:
    """Build LoRA with a schedule that has twenty steps of warm-up."""
    from transformers import get_cosine_schedule_with_warmup

    model = lora()
    optimizer = adamw(model, lr=1e-2)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 20, STEPS)
    return loop_case(model, optimizer, scheduler=scheduler)


HEALTHY = Healthy(
    "the first update has a learning rate of 0, and so have the last ones",
    looks_like=("ADP001", "NUM002", "OPT003", "OPT011"),
)
