"""An adapter of small steps is merged into a base in 8 bits, and most of it is lost.

The sum is rounded to 255 values per row again: a change that is below half of their
distance is dropped. PEFT warns of "rounding errors", whatever their size.

Fix: merge into the base in 16 or 32 bits.
Source: seed; PEFT's own warning in ``Linear8bitLt.merge``.
"""

import warnings

import torch

from ftlab.faults.builders import Case, Fault, llama, lora, plain_case
from ftlab.faults.builders.blocks import eight_bit


def build(fixed: bool) -> Case:
    """Build LoRA on eight bits that is merged when training is over."""
    model = lora(llama() if fixed else eight_bit(llama(), torch.float32))

    def export() -> None:
        with warnings.catch_warnings(action="ignore"):
            model.merge_and_unload()

    return plain_case(model.train(), lr=3e-5, afterwards=export)


FAULT = Fault(
    "the adapter is good and the merged 8-bit model is nearly the base again",
    code="ADP009",
    places=("module *_proj", "call merge_and_unload"),
    evident=5,
    needs=("bitsandbytes>=0.46",),
)
