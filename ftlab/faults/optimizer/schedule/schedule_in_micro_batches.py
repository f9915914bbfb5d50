"""A total that counts micro-batches, in a Trainer that accumulates four.

``len(loader) * epochs`` is four times the number of updates: the run ends after the
first quarter of the decay, at three quarters of the rate.

Fix: divide by ``gradient_accumulation_steps``, or let the Trainer make the schedule.
Source: transformers, whose own count is in updates.
"""

from ftlab.faults.builders import Case, Fault, adamw, lora, trained

STEPS, MICRO = 6, 4


def build(fixed: bool) -> Case:
    """Build a Trainer with a linear schedule of its user's."""
    from transformers import get_scheduler

    model = lora()
    optimizer = adamw(model)
    scheduler = get_scheduler("linear", optimizer, 0, STEPS * (1 if fixed else MICRO))
    return trained(
        model,
        max_steps=STEPS,
        gradient_accumulation_steps=MICRO,
        per_device_train_batch_size=2,
        trainer={"optimizers": (optimizer, scheduler)},
    )


FAULT = Fault(
    "the rate has hardly fallen when the run ends",
    code="OPT011",
    places=("config num_training_steps",),
    steps=STEPS,
    evident=-1,
)
