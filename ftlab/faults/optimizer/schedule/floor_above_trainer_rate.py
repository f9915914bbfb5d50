"""A Trainer's ``min_lr`` that lies above its learning rate.

The cosine goes from the one to the other: up. The highest rate comes last.

Fix: ``min_lr_rate=0.1``, a share of the learning rate.
Source: seed; transformers, get_cosine_with_min_lr_schedule_with_warmup.
"""

from ftlab.faults.builders import Case, Fault, lora, trained

RATE = 1e-4


def build(fixed: bool) -> Case:
    """Build a Trainer under a cosine with a floor."""
    return trained(
        lora(),
        max_steps=8,
        learning_rate=RATE,
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr": RATE * (0.1 if fixed else 20)},
    )


FAULT = Fault(
    "the learning rate grows through the whole run",
    code="OPT029",
    places=("config min_lr",),
    steps=8,
    evident=-1,
)
