"""Muon for the matrices, AdamW for all the rest: two optimizers, one loop.

Each of them holds a part of the parameters, and each has a schedule of its own.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, llama, updated_by


def build() -> Case:
    """Build a Llama under two optimizers with two schedules."""
    model = llama()
    names = {"embed_tokens", "lm_head"}
    matrices: list[Any] = []
    rest: list[Any] = []
    for name, weight in model.named_parameters():
        inner = weight.ndim == 2 and name.split(".")[-2] not in names
        (matrices if inner else rest).append(weight)
    both: list[Any] = [
        torch.optim.Muon(matrices, lr=5e-3),
        torch.optim.AdamW(rest, lr=1e-3),
    ]
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR
    schedules = [cosine(optimizer, 200) for optimizer in both]

    def update() -> None:
        for each in (*both, *schedules):
            each.step()

    return updated_by(update, model, both, clears=model, scheduler=schedules)


HEALTHY = Healthy(
    "each optimizer lacks most of the model's parameters",
    looks_like=("OPT001", "OPT002", "OPT003"),
    needs=("torch>=2.9",),
)
