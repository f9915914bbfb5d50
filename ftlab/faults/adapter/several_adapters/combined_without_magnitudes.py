"""``add_weighted_adapter`` of adapters with DoRA: what the magnitudes learned is lost.

A and B are combined; the combination's own magnitudes are those of the base weights.

Fix: merge each adapter into a copy of the base and average these.
Source: huggingface/peft#3761.
"""

import torch

from ftlab.faults.adapter.several_adapters.combined_with_rslora import (
    combine,
    two_trained,
)
from ftlab.faults.builders import Case, Fault, plain_case


def build(fixed: bool) -> Case:
    """Combine two adapters with DoRA, or without it."""
    model = two_trained(use_dora=not fixed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_magnitude_vector" in name:
                parameter.mul_(1.1)
    combine(model, [0.5, 0.5], "cat")
    return plain_case(model, lr=1e-4)


FAULT = Fault(
    "a combination of one adapter alone is not that adapter",
    code="ADP038",
    places=("config use_dora",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
