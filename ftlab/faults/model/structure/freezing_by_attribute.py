"""The embeddings and the first block were "frozen", and all of their weights move.

``module.requires_grad = False`` sets an attribute of the module that nobody reads. Only
tensors have one that counts.

Fix: ``module.requires_grad_(False)``.
Source: seed; torch `nn/modules/module.py`: ``requires_grad_`` asks each parameter.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.blocks import blocks, deep_base


def build(fixed: bool) -> Case:
    """Train the upper blocks of a model."""
    model = deep_base()
    module: Any
    for module in blocks(model)[:2]:
        if fixed:
            module.requires_grad_(False)
        else:
            module.requires_grad = False
    return plain_case(model)


FAULT = Fault(
    "weights change although they were frozen",
    code="MOD014",
    places=("param *.[01].*",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
