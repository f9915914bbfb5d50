"""A model built on meta, filled and cast to bf16: its frequencies are rounded.

They are outside the state dict, were computed again after ``to_empty``, and differ from
new ones by the rounding of bf16 only.
"""

import torch

from ftlab.faults.builders import Case, Healthy, base, lora, plain_case


def build() -> Case:
    """Build LoRA in float32 on a base in bf16."""
    good = base()
    with torch.device("meta"):
        model = base()
    model.to_empty(device="cpu")
    buffers = dict(good.named_buffers())
    for name, buffer in model.named_buffers():
        buffer.copy_(buffers[name])
    model.load_state_dict(good.state_dict())
    model = lora(model.bfloat16())
    return plain_case(model, lr=2e-3)


HEALTHY = Healthy(
    "buffers that no checkpoint holds, in bf16",
    looks_like=("MOD004",),
)
