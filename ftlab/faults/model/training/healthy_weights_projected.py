"""After each step weights are clipped, rescaled to a norm, and copied to others."""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, trainable
from ftlab.faults.builders.around import loop_with

EVERY = 10


def build() -> Case:
    """Train all weights, and evaluate from time to time."""
    model = base()
    optimizer = adamw(model)
    rows = batches(9)
    norms = [weight.detach().norm() for weight in trainable(model)]

    @torch.no_grad()
    def project() -> None:
        for weight, norm in zip(trainable(model), norms, strict=True):
            weight.data.clamp_(-0.05, 0.05)
            weight.data.mul_(norm / weight.norm().clamp(min=norm))
        model.get_output_embeddings().weight.data.copy_(
            model.get_input_embeddings().weight
        )

    def after(done: int) -> None:
        project()
        if done % EVERY == EVERY - 1:
            with torch.no_grad():
                model.eval()(**rows[-1])
            model.train()

    return loop_with(model, optimizer, rows[:-1], after=after)


HEALTHY = Healthy(
    "something writes to the weights after every step",
    looks_like=("MOD012", "ADP007"),
    steps=60,
)
