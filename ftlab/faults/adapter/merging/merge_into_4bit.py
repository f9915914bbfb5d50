"""The adapter is merged into a base in 4 bits.

W + B A is rounded to 16 values per block again: a change that is smaller than their
distance is lost, or doubled.

Fix: merge into the base in 16 bits.
Source: huggingface/peft#2321, #2502, #1388, #1009.
"""

import warnings

from ftlab.faults.builders import Case, Fault, llama, lora, plain_case
from ftlab.faults.builders.blocks import four_bit


def build(fixed: bool) -> Case:
    """Build QLoRA that is merged when training is over."""
    bare = llama(hidden_size=128)
    model = lora(bare if fixed else four_bit(bare, packing=False))

    def export() -> None:
        with warnings.catch_warnings(action="ignore"):
            model.merge_and_unload()

    return plain_case(model.train(), afterwards=export)


FAULT = Fault(
    "the adapter is good and the merged model is not",
    code="ADP009",
    places=("module *_proj", "call merge_and_unload"),
    evident=5,
    needs=("bitsandbytes>=0.46",),
)
