"""LoRA+ with its ratio on A: the factor that begins at 0 has the lower rate.

Fix: give the group of ``lora_B`` the higher rate.
Source: seed; Hayou et al. 2024 (arXiv:2402.12354), rate of B = ratio * rate of A.
"""

import torch

from ftlab.faults.builders import Case, Fault, loop_case, lora

RATE, RATIO = 2e-4, 16


def build(fixed: bool) -> Case:
    """Build LoRA with a group for each kind of factor."""
    model = lora()
    kinds = (("lora_A", not fixed), ("lora_B", fixed))
    groups = [
        {
            "params": [p for n, p in model.named_parameters() if kind in n],
            "lr": RATE * (RATIO if fast else 1),
        }
        for kind, fast in kinds
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
    return loop_case(model, optimizer)


FAULT = Fault(
    "LoRA+ learns more slowly than LoRA",
    code="OPT018",
    places=("optimizer param_groups*",),
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
