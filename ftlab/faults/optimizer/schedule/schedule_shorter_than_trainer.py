"""A scheduler of one's own in a Trainer, planned for a quarter of its steps.

``optimizers=(optimizer, scheduler)`` is taken as it is: the Trainer's own count of
steps goes nowhere.

Fix: plan it with ``trainer.state.max_steps``, or let the Trainer make it.
Source: transformers, Trainer.create_scheduler.
"""

from ftlab.faults.builders import Case, Fault, adamw, lora, trained

STEPS = 12


def build(fixed: bool) -> Case:
    """Build a Trainer with a cosine of its user's."""
    from transformers import get_scheduler

    model = lora()
    optimizer = adamw(model)
    total = STEPS if fixed else STEPS // 4
    scheduler = get_scheduler("linear", optimizer, 0, total)
    further = {"optimizers": (optimizer, scheduler)}
    return trained(model, max_steps=STEPS, trainer=further)


FAULT = Fault(
    "a Trainer whose last epochs change nothing",
    code="OPT011",
    places=("config num_training_steps",),
    steps=STEPS,
    evident=-1,
)
