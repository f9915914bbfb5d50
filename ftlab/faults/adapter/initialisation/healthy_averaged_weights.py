"""An exponential average of the weights, with which every evaluation is made.

Every 20 steps the weights are swapped for the average, and back again.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, trainable
from ftlab.faults.builders.around import loop_with

EVERY = 20


def build() -> Case:
    """Build LoRA with an average of its factors."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    weights = trainable(model)
    average = [weight.detach().clone() for weight in weights]
    rows = batches(9)

    def swap() -> None:
        for weight, mean in zip(weights, average, strict=True):
            kept = weight.detach().clone()
            weight.copy_(mean)
            mean.copy_(kept)

    @torch.no_grad()
    def evaluate() -> None:
        swap()
        model.eval()
        model(**rows[-1])
        model.train()
        swap()

    def after(done: int) -> None:
        torch._foreach_lerp_(average, [p.detach() for p in weights], 0.1)
        if done % EVERY == EVERY - 1:
            evaluate()

    return loop_with(model, optimizer, rows[:-1], after=after)


HEALTHY = Healthy(
    "weights are replaced for an evaluation, outside of the optimizer",
    looks_like=("ADP001", "GRD002", "OPT001", "ADP007"),
)
