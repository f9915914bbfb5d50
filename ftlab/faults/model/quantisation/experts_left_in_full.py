"""A mixture of experts "in 4 bits" that takes as much memory as before.

The experts are one three-dimensional parameter, not linear layers. Quantisation passes
them by, and they are most of the model.

Fix: choose a quantisation that knows fused experts, or count with their memory.
Source: unslothai/unsloth#6936, NVIDIA-NeMo/Automodel#1151.
"""

from ftlab.faults.builders import Case, Fault, fused_experts, llama, lora, plain_case
from ftlab.faults.builders.blocks import four_bit


def build(fixed: bool) -> Case:
    """Build LoRA on a model with fused experts, or on one without."""
    model = lora(four_bit(llama() if fixed else fused_experts()))
    return plain_case(model.train())


FAULT = Fault(
    "a model in 4 bits takes almost as much memory as in 16",
    code="MOD003",
    places=("param *.experts.*", "config load_in_4bit"),
    steps=4,
    evident=-1,
    needs=("bitsandbytes>=0.46",),
)
