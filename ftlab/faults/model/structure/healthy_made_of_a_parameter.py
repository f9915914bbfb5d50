"""A block keeps tensors that were made of its own parameter, and one that is cast.

The parameter is registered; what was made of it is kept for the next pass.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, base, plain_case
from ftlab.faults.builders.blocks import blocks


def build() -> Case:
    """Keep a cast weight and the last output as attributes."""
    model = base()
    for block in blocks(model):
        block.strength = torch.nn.Parameter(torch.ones(1))
        block.register_forward_hook(_scaled)
    return plain_case(model)


def _scaled(block: Any, _: Any, output: Any) -> Any:
    block.cast = block.strength.to(torch.float64)
    hidden = output[0] if isinstance(output, tuple) else output
    block.last = hidden * block.cast.to(hidden.dtype)
    return (block.last, *output[1:]) if isinstance(output, tuple) else block.last


HEALTHY = Healthy(
    "modules keep tensors with a graph as attributes",
    looks_like=("MOD008",),
)
