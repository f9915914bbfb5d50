"""A learning rate that is halved by hand, and taken back by the scheduler.

``group["lr"] *= 0.5`` when the loss stands still: the next ``scheduler.step()``
computes the rate from the base rate, and the change has held for one update.

Fix: change ``scheduler.base_lrs`` as well.
Source: pytorch/pytorch#33416 and the like: schedules do not read the rate in use.
"""

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step
from ftlab.faults.builders.around import at, loop_with

AT, STEPS = 4, 40


def build(fixed: bool) -> Case:
    """Build LoRA under a cosine, with a rate that is halved after four steps."""
    from transformers import get_scheduler

    model = lora()
    optimizer = adamw(model, lr=1e-2)
    scheduler = get_scheduler("cosine", optimizer, 0, STEPS)
    train = plain_step(model, optimizer, scheduler)

    def halve() -> None:
        if fixed:
            scheduler.base_lrs = [rate / 2 for rate in scheduler.base_lrs]
        for group in optimizer.param_groups:
            group["lr"] *= 0.5

    return loop_with(
        model,
        optimizer,
        batches(),
        train=train,
        before=at(AT, halve),
        scheduler=scheduler,
    )


FAULT = Fault(
    "a rate that was lowered and is as high as before",
    code="OPT015",
    places=("optimizer lr",),
    steps=8,
    evident=5,
)
