"""The two factors of LoRA in turn, five steps each, with an optimizer for each factor.

The factor that waits is frozen; the second optimizer steps for the first time late.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, lora

TURN = 5
"""Steps in a row of one optimizer."""


def build() -> Case:
    """Build LoRA and a loop of which only the first optimizer is handed over."""
    model = lora()
    below = [p for name, p in model.named_parameters() if "lora_A" in name]
    above = [p for name, p in model.named_parameters() if "lora_B" in name]
    optimizers = [
        torch.optim.AdamW(above, lr=5e-3, weight_decay=0.0),
        torch.optim.AdamW(below, lr=2e-3, weight_decay=0.0),
    ]

    def step(batch: Any) -> float:
        turn = len(case.losses) // TURN % 2
        for place, factor in enumerate((above, below)):
            for parameter in factor:
                parameter.requires_grad_(place == turn)
        optimizers[turn].zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizers[turn].step()
        return float(loss.detach())

    case = Case(model, optimizers[0], batches(), step)
    return case


HEALTHY = Healthy(
    "half of the trainable tensors are in an optimizer that is not known for a while",
    looks_like=("OPT002", "ADP001", "ADP010"),
    steps=60,
)
