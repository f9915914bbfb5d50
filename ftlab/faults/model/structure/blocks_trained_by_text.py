"""Only block 2 of 24 was to be trained, and the last four are trained with it.

``"layers.2" in name`` is true of blocks 20 to 23: five times the memory, and a model
that is changed where it was not meant to be.

Fix: end the text with a dot, or thaw ``blocks[2]``.
Source: seed; recipes that train one block.
"""

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.blocks import block_name, deep_base

DEPTH = 24


def build(fixed: bool) -> Case:
    """Train one block without an adapter."""
    model = deep_base(DEPTH)
    text = block_name(model, 2) + ("." if fixed else "")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(text in name)
    return plain_case(model)


FAULT = Fault(
    "more blocks are trained than were thawed",
    code="MOD014",
    places=("param *.2?.*",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
