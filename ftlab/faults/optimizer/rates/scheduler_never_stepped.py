"""A schedule that warms up from 0, and is never stepped.

The rate stays where a warm-up begins. ``scheduler.step()`` in the loop over epochs does
the same for all of the first one.

Fix: ``scheduler.step()`` after each ``optimizer.step()``.
Source: loops that were written before they had a scheduler.
"""

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step

STEPS = 100


def build(fixed: bool) -> Case:
    """Build LoRA under a cosine with a warm-up."""
    from transformers import get_scheduler

    model = lora()
    optimizer = adamw(model, lr=1e-2)
    scheduler = get_scheduler("cosine", optimizer, 5, STEPS)
    step = plain_step(model, optimizer, scheduler if fixed else None)
    return Case(model, optimizer, batches(), step, scheduler=scheduler)


FAULT = Fault(
    "the learning rate is 0, and nothing is learnt",
    code="OPT005",
    places=("call scheduler.step",),
    steps=12,
    evident=7,
    also=("NUM003", "ADP001"),
)
