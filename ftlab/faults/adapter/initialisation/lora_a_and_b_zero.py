"""Both factors of LoRA are 0 after an adapter slot was reset.

The gradient of each factor is a product with the other one. With both at 0 both
gradients are exactly 0: a saddle that no optimizer leaves.

Fix: draw A anew when a slot is reset.
Source: NovaSky-AI/SkyRL#852.
"""

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model and reset its adapter."""
    model = lora()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name or ("lora_A" in name and not fixed):
                parameter.zero_()
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "an adapter that was reset never learns again",
    code="ADP001",
    places=("param *.lora_B.*", "param *.lora_A.*"),
    steps=10,
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
