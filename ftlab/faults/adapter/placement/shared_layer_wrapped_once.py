"""Blocks share a layer, and PEFT puts the adapter on it in the first one only.

``named_modules`` lists a module once. The other blocks go on calling the plain layer.

Fix: put PEFT's layer in the other blocks after get_peft_model.
Source: seed; pytorch, ``torch.nn.Module.named_modules``, ``remove_duplicate``.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, attention, base, lora, plain_case
from ftlab.faults.builders.blocks import blocks


def build(fixed: bool) -> Case:
    """Build a model whose blocks have one layer in common."""
    model = base()
    first, *others = blocks(model)
    path = next(
        name
        for name, _ in first.named_modules()
        if name.rpartition(".")[2] in attention(model)
    )
    share(first, others, path)
    model = lora(model)
    if fixed:
        share(blocks(model)[0], list(blocks(model))[1:], path)
    return plain_case(model)


def share(first: Any, others: list[torch.nn.Module], path: str) -> None:
    """Give other blocks the layer that the first one has at ``path``."""
    parent, _, name = path.rpartition(".")
    for block in others:
        setattr(block.get_submodule(parent), name, first.get_submodule(path))


FAULT = Fault(
    "the adapter works in the first block only",
    code="ADP029",
    places=("module *",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
