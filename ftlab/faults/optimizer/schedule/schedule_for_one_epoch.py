"""A total that was computed for one epoch, in a run of four.

``num_training_steps=len(loader)``: the rate is 0 after the first quarter, and three
epochs train nothing.

Fix: ``len(loader) * epochs``.
Source: a line that stands in many scripts without its factor.
"""

from ftlab.faults.builders import Case, Fault, adamw, batches, loop_case, lora

EPOCH, EPOCHS = 6, 4


def build(fixed: bool) -> Case:
    """Build a linear schedule over one epoch, or over all."""
    from transformers import get_scheduler

    model = lora()
    optimizer = adamw(model, lr=1e-2)
    total = EPOCH * EPOCHS if fixed else EPOCH
    scheduler = get_scheduler("linear", optimizer, 0, total)
    return loop_case(model, optimizer, batches(EPOCH), scheduler=scheduler)


FAULT = Fault(
    "the loss stands still after the first epoch",
    code="OPT011",
    places=("config num_training_steps",),
    steps=12,
    evident=8,
    families=("llama", "own"),
)
