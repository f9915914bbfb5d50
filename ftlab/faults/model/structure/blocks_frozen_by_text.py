"""Block 1 was to keep what it has learned, and blocks 10 to 13 stand still as well.

The loop looks for the text "1" behind the blocks' name: it begins other numbers too.

Fix: end the text with a dot, or freeze ``blocks[1]``.
Source: seed; measured.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case
from ftlab.faults.builders.blocks import block_name, deep_base

DEPTH = 14


def build(fixed: bool) -> Case:
    """Freeze the adapter of one block."""
    model = lora(deep_base(DEPTH))
    text = block_name(model, 1) + ("." if fixed else "")
    for name, parameter in model.named_parameters():
        if text in name:
            parameter.requires_grad_(False)
    return plain_case(model)


FAULT = Fault(
    "more blocks stand still than were frozen",
    code="MOD014",
    places=("param *.1[0-3].*",),
    steps=4,
    evident=-1,
    also=("ADP010",),
    families=("llama", "gpt2", "neox", "own"),
)
