"""Half of the blocks are trained without dropout after a measurement.

A hook or a callback puts some blocks into evaluation mode to look at them, and leaves
them so. The model's own ``training`` is True, and nobody looks further down.

Fix: ``block.train()`` after it, or put back the mode that each block was in.
Source: the error of TrainCheck's list whose dropouts were off in training, TF-33844.
"""

from ftlab.faults.builders import Case, Fault, adamw, at, batches, loop_with, lora
from ftlab.faults.builders.blocks import block_name, blocks, deep_base

MEASURED = 2
"""The step before which the lower blocks are measured."""


def build(fixed: bool) -> Case:
    """Measure the lower half of the blocks in evaluation mode."""
    model = lora(deep_base(), lora_dropout=0.2).train()
    optimizer = adamw(model)
    lower = range(len(blocks(model)) // 2)

    def measure() -> None:
        for number in lower:
            blocks(model)[number].eval()
            if fixed:
                blocks(model)[number].train()

    places = tuple(f"module {block_name(model, number)}" for number in lower)
    before = at(MEASURED, measure)
    return loop_with(model, optimizer, batches(), before=before, places=places)


FAULT = Fault(
    "the lower half of the blocks has no dropout any more",
    code="MOD006",
    places=("module *.0",),
    evident=MEASURED + 1,
    families=("llama", "gpt2", "neox", "own"),
    traincheck="TF-33844",
)
