"""Groups for lora_A and lora_B are made by name, and DoRA's magnitudes are in none.

They are trainable, get gradients and never change: DoRA is LoRA with a detour.

Fix: add a group for ``lora_magnitude_vector``.
Source: seen in hand-written loops that give lora_B a rate of its own (LoRA+).
"""

import torch

from ftlab.faults.builders import Case, Fault, loop_case, lora


def build(fixed: bool) -> Case:
    """Build DoRA with two groups, or with three."""
    model = lora(use_dora=True)
    named = list(model.named_parameters())
    parts = ["lora_A", "lora_B", *(["lora_magnitude_vector"] if fixed else [])]
    groups = [
        {"params": [p for name, p in named if part in name], "lr": lr}
        for part, lr in zip(parts, (1e-3, 4e-3, 1e-3), strict=False)
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
    return loop_case(model, optimizer)


FAULT = Fault(
    "DoRA behaves like LoRA, and is slower",
    code="OPT002",
    places=("param *.lora_magnitude_vector.*",),
    steps=8,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
