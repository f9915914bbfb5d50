"""``model.to(torch.bfloat16)`` after ``get_peft_model`` takes the adapter along.

PEFT keeps adapters in float32 so that small updates count. In bf16 an update of 1e-5 is
rounded away wherever a weight is above 0.005: lora_A stands still.

Fix: cast the base before ``get_peft_model``, and nothing after it.
Source: huggingface/peft#1249, #1706.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA on a base in bf16, and cast all of it or nothing."""
    model = lora(base().to(torch.bfloat16))
    if not fixed:
        model = model.to(torch.bfloat16)
    return plain_case(model, lr=1e-5)


FAULT = Fault(
    "the adapter learns next to nothing at a small learning rate",
    code="ADP019",
    places=("param *.lora_A.*",),
    steps=10,
    evident=2,
    also=("NUM002",),
    families=("llama", "gpt2", "neox", "own"),
)
