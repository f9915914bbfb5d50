"""Gradual unfreezing, from the head down: a layer more every 50 steps.

What is frozen has no gradient and stands still; each newly thawed layer is added to the
optimizer then, so groups and trainable parameters change during the run.
"""

from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import batches, llama
from ftlab.faults.fault import Case, Healthy

EVERY = 50


def build() -> Case:
    """Build a Llama of three layers of which only the head is trained at first."""
    model = llama(num_hidden_layers=3).requires_grad_(False)
    model.lm_head.requires_grad_(True)
    optimizer = torch.optim.AdamW(model.lm_head.parameters(), lr=1e-3)
    train = plain_step(model, optimizer)
    frozen = list(model.model.layers)

    def step(batch: Any) -> float:
        if frozen and len(case.losses) % EVERY == EVERY - 1:
            layer = frozen.pop().requires_grad_(True)
            optimizer.add_param_group({"params": list(layer.parameters()), "lr": 5e-4})
        return train(batch)

    case = Case(model, optimizer, batches(), step)
    return case


HEALTHY = Healthy(
    "unfreezing",
    "layers have no gradient until it is their turn",
    looks_like=("GRD003", "OPT002", "OPT001"),
)
