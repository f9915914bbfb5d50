"""``num_warmup_steps=0.1``: a share where steps are counted.

The warm-up is over after the first update, which has a rate of 0; the second one has
all of it.

Fix: ``num_warmup_steps=round(0.1 * total)``.
Source: transformers, whose TrainingArguments take a share and get_scheduler does not.
"""

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora

STEPS = 20


def build(fixed: bool) -> Case:
    """Build a cosine schedule with a tenth of warm-up."""
    from transformers import get_cosine_schedule_with_warmup

    model = lora()
    optimizer = adamw(model, lr=1e-2)
    warmup = 2 if fixed else 0.1
    scheduler = get_cosine_schedule_with_warmup(optimizer, warmup, STEPS)
    return loop_case(model, optimizer, scheduler=scheduler)


FAULT = Fault(
    "no warm-up, though one was asked for",
    code="OPT011",
    places=("config num_warmup_steps",),
    steps=4,
    evident=-1,
)
