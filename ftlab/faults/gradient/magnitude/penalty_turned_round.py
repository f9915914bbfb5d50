"""The weight of a KL penalty is doubled when it should be halved.

A controller keeps the model near the one it began as: its penalty is to weigh more
while the distance is too large. Turned round, it weighs more as long as the distance is
small; it begins at 0, so the weight doubles with each step until nothing else counts.

Fix: halve the weight below the target, double it above.
Source: the controller of Schulman et al. 2017, arXiv:1707.06347, section 4, its sign
turned round.
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Train LoRA near its base, with a controller of one kind or the other."""
    model = lora(target_modules="all-linear")
    weight, target = 1.0, 0.05

    def loss_of(batch: Batch) -> torch.Tensor:
        nonlocal weight
        output = model(**batch)
        with torch.no_grad(), model.disable_adapter():
            base = model(**batch).logits.log_softmax(-1)
        own = output.logits.log_softmax(-1)
        distance = (own.exp() * (own - base)).sum(-1).mean()
        loss = output.loss + weight * distance
        too_far = float(distance.detach()) > target
        weight *= 2.0 if too_far == fixed else 0.5
        weight = min(max(weight, 1e-3), 1e12)
        return loss

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "after some steps the loss climbs without end, at a learning rate that is well",
    code="GRD002",
    places=("object gradients",),
    steps=40,
    evident=16,
    also=("GRD001",),
)
