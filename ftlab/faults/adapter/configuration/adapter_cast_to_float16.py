"""``model.half()`` after ``get_peft_model``: the loss is NaN after one step.

Adam divides by the root of its second moment plus 1e-8. In float16 that is 0, and
lora_A, whose first gradient is 0, becomes 0 / 0.

Fix: cast the base before ``get_peft_model``, and nothing after it.
Source: huggingface/peft#1090, #1249, #1706.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA on a base in float16, and cast all of it or nothing."""
    model = lora(base().to(torch.float16))
    if not fixed:
        model = model.half()
    return plain_case(model, lr=1e-4)


FAULT = Fault(
    "the loss is NaN from the second step on",
    code="ADP019",
    places=("param *.lora_?.*",),
    evident=-1,
    also=("NUM001",),
    families=("llama", "gpt2", "neox", "own"),
)
