"""A full fine-tune that freezes its parts one after another, the lowest first.

The optimizer holds them all until the end; what requires no gradient has none.
"""

from typing import Any

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, base, batches
from ftlab.faults.fault import Case, Healthy

FIRST = 12


def build() -> Case:
    """Build a full fine-tune of which the embedding and a block stop early."""
    model = base()
    for weight in model.parameters():
        weight.requires_grad_(True)
    optimizer = adamw(model)
    forward_and_update = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        done = len(case.losses)
        if done == FIRST:
            model.get_input_embeddings().requires_grad_(False)
        elif done == 2 * FIRST:
            model.model.layers[0].requires_grad_(False)
        return forward_and_update(batch)

    case = Case(model, optimizer, batches(), step)
    return case


HEALTHY = Healthy(
    "gradients of the lower parts end in the middle of the run",
    looks_like=("GRD009", "GRD003", "OPT002"),
    steps=60,
)
