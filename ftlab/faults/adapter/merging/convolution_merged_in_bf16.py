"""A small adapter of a convolution is merged into its kernel in bf16, and is lost.

A kernel has few weights per output, which are large: more of a change falls below half
the distance of two bf16 numbers than in a linear layer.

Fix: merge in float32, or keep the adapter apart.
Source: seed; huggingface/peft#2502 (merged and unmerged outputs differ).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, loop_case, lora, pictures, vit


def build(fixed: bool) -> Case:
    """Build LoRA on the patches of a ViT, merged when training is over."""
    dtype = torch.float32 if fixed else torch.bfloat16
    model = lora(
        vit().to(dtype), target_modules=["projection"], modules_to_save=["classifier"]
    )
    groups: list[dict[str, Any]] = [
        {
            "params": [p for n, p in model.named_parameters() if "lora_" in n],
            "lr": 1e-5,
        },
        {"params": [p for n, p in model.named_parameters() if "modules_to_save" in n]},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    made = [b | {"pixel_values": b["pixel_values"].to(dtype)} for b in pictures()]
    return loop_case(model, optimizer, made, afterwards=lambda: model.merge_adapter())


FAULT = Fault(
    "the merged vision model sees as the base model did",
    code="ADP009",
    places=("module *.projection", "call merge_adapter"),
    evident=5,
)
