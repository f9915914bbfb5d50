"""Adam's moments set to 0 again and again, and the learning rate warmed up each time.

The count of steps goes on, as in ReLoRA's restarts: updates would be too large at first
if the rate were not small then.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, plain_step
from ftlab.faults.builders.around import loop_with

STAGE, WARMUP = 25, 10
"""Steps between two restarts, and those that the rate rises in."""


def build() -> Case:
    """Build full fine-tuning with a saw-tooth of a schedule."""
    model = base()
    optimizer = adamw(model, lr=1e-3)
    for group in optimizer.param_groups:  # as in a run that goes on
        for parameter in group["params"]:
            optimizer.state[parameter] = {
                "step": torch.tensor(20_000.0),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step % STAGE + 1) / WARMUP)
    )
    train = plain_step(model, optimizer, scheduler)

    def before(done: int) -> None:
        if done and done % STAGE == 0:
            for state in optimizer.state.values():
                state["exp_avg"].zero_()
                state["exp_avg_sq"].zero_()

    return loop_with(
        model, optimizer, batches(), train=train, before=before, scheduler=scheduler
    )


HEALTHY = Healthy(
    "moments of 0 at a late step, and a rate that makes up for it",
    looks_like=("OPT023",),
    steps=60,
)
