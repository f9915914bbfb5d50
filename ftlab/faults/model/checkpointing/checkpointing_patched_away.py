"""The blocks' forward was patched after checkpointing was switched on.

Since 5.23 transformers looks at the mark in the forward of the block's class, before
in ``__call__``. A forward that is set on the instance runs in place of the class's, and
all activations are kept. Nothing fails.

Fix: ``old = block.forward``, and call ``old(...)`` from the patch.
Source: transformers `modeling_layers.py` (GradientCheckpointingLayer); measured.
"""

import functools
import inspect
import types
from typing import Any

from torch import nn

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.blocks import blocks
from ftlab.faults.builders.checkpointing import checkpointed


def build(fixed: bool) -> Case:
    """Patch each block's forward."""
    model = checkpointed()
    for block in blocks(model):
        _patch(block, whole=fixed)
    return plain_case(model)


def _patch(block: nn.Module, *, whole: bool) -> None:
    """Count the calls of a block, around its forward or around what is within it."""
    counted: dict[str, int] = {"calls": 0}
    old: Any = block.forward if whole else inspect.unwrap(type(block).forward)

    @functools.wraps(old)
    def forward(self: nn.Module, *inputs: Any, **settings: Any) -> Any:
        counted["calls"] += 1
        return old(*inputs, **settings) if whole else old(self, *inputs, **settings)

    setattr(block, "forward", types.MethodType(forward, block))  # noqa: B010  mypy


FAULT = Fault(
    "gradient checkpointing is on, and memory is what it was without it",
    code="MOD011",
    places=("module *.0",),
    evident=1,
    families=("llama", "gpt2", "neox"),
    needs=("transformers>=5.23",),
)
