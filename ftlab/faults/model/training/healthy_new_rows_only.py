"""Textual inversion: one new row of an embedding is trained.

All other rows are put back after each step, whatever the optimizer has done to them.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, loop_with

ROW = 5
"""The one that is trained."""


def build() -> Case:
    """Train the embedding of a frozen model."""
    model = base()
    model.requires_grad_(requires_grad=False)
    weight = model.get_input_embeddings().weight.requires_grad_()
    optimizer = adamw(model, lr=1e-2)
    first = weight.detach().clone()
    others = torch.arange(len(first)) != ROW
    rows = batches()
    for row in rows:
        row["input_ids"][:, 0] = ROW

    def after(_: int) -> None:
        weight.data[others] = first[others]

    return loop_with(model, optimizer, rows, after=after)


HEALTHY = Healthy(
    "almost all of each update is put back",
    looks_like=("MOD012", "MOD009", "NUM003"),
    steps=60,
)
