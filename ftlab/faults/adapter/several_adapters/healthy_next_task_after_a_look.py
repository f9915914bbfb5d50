"""A second task begins with an evaluation: its adapter is made active, and looked at.

One optimizer holds both adapters. The first one has learned and is frozen from then on.
"""

import torch

from ftlab.faults.builders import Case, Healthy, at, batches, loop_with, lora

TASK = 20
"""Steps of the first task."""


def build() -> Case:
    """Build two adapters for two tasks, one after the other."""
    model = lora()
    model.add_adapter("second", model.peft_config["default"])
    both = [weight for name, weight in model.named_parameters() if ".lora_" in name]
    optimizer = torch.optim.AdamW(both, lr=5e-3, weight_decay=0.0)
    made = batches()

    def turn() -> None:
        model.set_adapter("second")
        with torch.no_grad():
            model(**made[0])

    return loop_with(model, optimizer, made, before=at(TASK, turn))


HEALTHY = Healthy(
    "training goes on with the adapter that an evaluation made active",
    looks_like=("ADP008", "ADP010", "GRD003"),
    steps=40,
)
