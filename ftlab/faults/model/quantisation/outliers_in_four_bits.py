"""One layer of a base has outliers, and is rounded to 4 bits with the others.

A column of large weights is in every row, as in the layers that carry a model's massive
activations. Each block that holds one of them takes its scale, and the 63 weights
beside it become 0. The adapter learns to make up for that first.

Fix: ``llm_int8_skip_modules`` with the layer's whole name.
Source: seed; Dettmers et al. 2022, arXiv:2208.07339; Sun et al. 2024, Massive
Activations, arXiv:2402.17762.
"""

import torch

from ftlab.faults.builders import Case, Fault, llama, lora, plain_case
from ftlab.faults.builders.blocks import four_bit

LAYER = "model.layers.1.mlp.down_proj"
SIZE = 50.0
"""Standard deviations of an outlier."""


def build(fixed: bool) -> Case:
    """Build QLoRA on a base with outliers, which are in 4 bits or left out."""
    model = llama(hidden_size=128)
    weight = model.get_submodule(LAYER).weight
    with torch.no_grad():
        weight[:, ::64] = SIZE * weight.std()
    skipped = ["lm_head", *([LAYER] if fixed else [])]
    model = four_bit(model, llm_int8_skip_modules=skipped)
    return plain_case(lora(model, target_modules="all-linear"))


FAULT = Fault(
    "QLoRA begins at a higher loss than LoRA, and stays above it",
    code="MOD029",
    places=(f"module *{LAYER}",),
    evident=0,
    families=("llama",),
    needs=("bitsandbytes>=0.46", "transformers>=5"),
)
