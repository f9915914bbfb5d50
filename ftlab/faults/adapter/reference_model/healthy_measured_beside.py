"""Every batch goes through the model once more, for a metric, before it trains it."""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, plain_step


def build() -> Case:
    """Build a loop that looks at its accuracy first, through the model under PEFT."""
    model = lora()
    optimizer = adamw(model)
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        with torch.no_grad():
            shares = model(input_ids=batch["input_ids"]).logits
        (shares[:, :-1].argmax(-1) == batch["input_ids"][:, 1:]).float().mean()
        return train(batch)

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "a pass without a graph gives what the training pass gives",
    looks_like=("ADP031", "ADP003", "MOD010"),
    steps=60,
)
