"""A learning rate that is halved when an evaluation stops getting better.

The scheduler is stepped after each evaluation only, every 20 steps, and with its loss.
The evaluation stands in the middle of training: eval mode, no gradients, then on.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, every, loop_with, lora

EVERY = 20


def build() -> Case:
    """Build LoRA with dropout and a schedule that waits for a plateau."""
    model = lora(lora_dropout=0.1)
    optimizer = adamw(model, lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=0
    )
    unseen = batches(2, seed=77)

    @torch.no_grad()
    def evaluate() -> float:
        model.eval()
        loss = sum(float(model(**batch).loss) for batch in unseen)
        model.train()
        return loss

    def judge() -> None:
        scheduler.step(evaluate())

    return loop_with(
        model, optimizer, batches(), after=every(EVERY, judge), scheduler=scheduler
    )


HEALTHY = Healthy(
    "forwards without gradients, a scheduler that is hardly ever stepped",
    looks_like=("OPT003", "OPT017", "GRD003", "ADP001"),
)
