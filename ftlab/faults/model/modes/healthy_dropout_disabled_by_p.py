"""Dropout is configured, and switched off for preference training by its p.

So does TRL, ``disable_dropout=True``: the configuration says 0.1, all layers drop 0.
"""

import torch

from ftlab.faults.builders import Case, Healthy, gpt2, lora, plain_case


def build() -> Case:
    """Build LoRA with dropout on a GPT-2 with dropout, and disable both."""
    model = lora(gpt2(resid_pdrop=0.1, embd_pdrop=0.1), lora_dropout=0.1).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return plain_case(model)


HEALTHY = Healthy(
    "the configuration has a dropout, and nothing drops",
    looks_like=("MOD017", "MOD006", "ADP040"),
    steps=40,
)
