"""LoRA on a base of eight bits, merged into it: the adapter is large enough for that.

Each weight is rounded again and most of them change a little; against what the adapter
adds that is below 1 %.
"""

import warnings

import torch

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case
from ftlab.faults.builders.blocks import eight_bit


def build() -> Case:
    """Build LoRA that is merged into eight bits."""
    model = lora(eight_bit(llama(), torch.float32))

    def export() -> None:
        with warnings.catch_warnings(action="ignore"):
            model.merge_adapter()

    return plain_case(model.train(), lr=1e-2, afterwards=export)


HEALTHY = Healthy(
    "the merge rounds every weight of the base anew",
    looks_like=("ADP009", "ADP007"),
    steps=40,
    needs=("bitsandbytes>=0.46",),
)
