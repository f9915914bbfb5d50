"""Other layers of the adapter learn from time to time, drawn by chance, as in LISA.

One optimizer holds all of them. The model is evaluated at each change, by a helper that
freezes everything for it and puts back what it found.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, loop_with, lora
from ftlab.faults.builders.blocks import blocks, deep_base

TURN, ACTIVE = 5, 2
"""Steps of one choice, and layers that learn meanwhile."""


def build() -> Case:
    """Build LoRA on four blocks of which two learn at a time."""
    model = lora(deep_base())
    optimizer = adamw(model, lr=5e-3)
    made = batches()
    dice = torch.Generator().manual_seed(3)
    layers = [
        [weight for name, weight in block.named_parameters() if "lora_" in name]
        for block in blocks(model)
    ]

    def choose() -> None:
        chosen = torch.randperm(len(layers), generator=dice)[:ACTIVE].tolist()
        for number, weights in enumerate(layers):
            for weight in weights:
                weight.requires_grad_(number in chosen)

    def evaluate() -> None:
        learning = [p for p in model.parameters() if p.requires_grad]
        model.requires_grad_(False)
        with torch.no_grad():
            model(**made[0])
        for parameter in learning:
            parameter.requires_grad_(True)

    def before(done: int) -> None:
        if done % TURN == 0:
            evaluate()
            choose()

    return loop_with(model, optimizer, made, before=before)


HEALTHY = Healthy(
    "layers that have learned are frozen after an evaluation, and others learn",
    looks_like=("ADP010", "ADP001", "GRD003"),
    steps=60,
)
