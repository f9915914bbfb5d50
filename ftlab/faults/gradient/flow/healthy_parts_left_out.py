"""Stochastic depth: at each step some blocks are left out (LayerDrop).

Their parameters have no gradient in that step, and are trained in other ones.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, own, plain_case, seeded

LEFT_OUT = 0.3


def build() -> Case:
    """Build a model of one's own whose floors are skipped by chance."""
    model = own()
    dice = seeded()

    def skip(_: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        left_out = torch.rand((), generator=dice) < LEFT_OUT
        return inputs[0] if left_out else output

    for floor in model.tower:
        floor.register_forward_hook(skip)
    return plain_case(model)


HEALTHY = Healthy(
    "whole blocks have no gradient in a third of the steps",
    looks_like=("GRD003", "GRD001"),
)
