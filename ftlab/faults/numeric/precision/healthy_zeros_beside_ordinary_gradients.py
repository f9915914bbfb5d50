"""fp16 with a scaler, and gradients that are mostly zeros for another reason.

A ReLU that is off for half of its inputs, and an embedding of which a batch uses a few
rows: what is not zero has all its bits.
"""

from typing import Any

import torch

from ftlab.faults.builders import VOCABULARY, Case, Healthy, adamw, batches, token_loss
from ftlab.faults.builders.loops import scaled_step


def build() -> Case:
    """Train an embedding, a layer with a ReLU and a head."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Embedding(VOCABULARY, 32),
        torch.nn.Linear(32, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, VOCABULARY),
    )
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)

    def loss_of(batch: Any) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.float16):
            return token_loss(model(batch["input_ids"]), batch)

    step = scaled_step(loss_of, optimizer, scaler)
    return Case(model, optimizer, batches(size=1, length=8), step, scaler=scaler)


HEALTHY = Healthy(
    "most of some gradients is exactly 0 in fp16",
    looks_like=("NUM011",),
)
