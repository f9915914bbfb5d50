"""DPO in bfloat16 with a small rate: for many steps reference and policy are equal.

The updates are below what bfloat16 shows in an output, and the loss is log 2 for long,
rounded. The reference is the model with its adapter off, as it should be.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, lora
from ftlab.faults.builders.preferences import log_chance, pairs, preferring


def build() -> Case:
    """Build DPO of a LoRA on a base in bfloat16."""
    model = lora(base().to(torch.bfloat16))

    def before(ids: torch.Tensor) -> torch.Tensor:
        with model.disable_adapter():
            return log_chance(model, ids)

    optimizer = adamw(model, lr=5e-6)
    return Case(model, optimizer, pairs(), preferring(model, optimizer, before))


HEALTHY = Healthy(
    "the loss is 0.69 at every step, and the reference gives what the policy gives",
    looks_like=("ADP031", "NUM003", "ADP001"),
    steps=40,
)
