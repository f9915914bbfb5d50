"""A total that was computed for one epoch, in a run of four.

``num_training_steps=len(loader)``: the rate is 0 after the first quarter, and three
epochs train nothing.

Fix: ``len(loader) * epochs``.
Source: a line that stands in many scripts without its factor.
"""

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step

EPOCH, EPOCHS = 6, 4


def build(fixed: bool) -> Case:
    """Build a linear schedule over one epoch, or over all."""
    from transformers import get_scheduler

    model = lora()
    optimizer = adamw(model, lr=1e-2)
    total = EPOCH * EPOCHS if fixed else EPOCH
    scheduler = get_scheduler("linear", optimizer, 0, total)
    step = plain_step(model, optimizer, scheduler)
    return Case(model, optimizer, batches(EPOCH), step, scheduler=scheduler)


FAULT = Fault(
    "the loss stands still after the first epoch",
    code="OPT011",
    places=("config num_training_steps",),
    steps=12,
    evident=8,
    families=("llama", "own"),
)
