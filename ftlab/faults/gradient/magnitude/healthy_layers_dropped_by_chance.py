"""LayerDrop: each block is passed over by chance, more often the longer it trains."""

import functools
from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, loop_case


def build() -> Case:
    """Build a full fine-tune that drops its blocks, in seven of ten steps at last."""
    model = base()
    for weight in model.parameters():
        weight.requires_grad_(True)
    optimizer = adamw(model)
    chance = torch.Generator().manual_seed(0)

    def drop(call: Any, hidden: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        share = min(0.7, len(case.losses) / 50)
        if model.training and torch.rand(1, generator=chance) < share:
            return hidden
        return call(hidden, *args, **kwargs)

    for layer in model.model.layers:
        layer.forward = functools.partial(drop, layer.forward)
    case = loop_case(model, optimizer)
    return case


HEALTHY = Healthy(
    "blocks have no gradient at most of the later steps",
    looks_like=("GRD009", "GRD003"),
)
