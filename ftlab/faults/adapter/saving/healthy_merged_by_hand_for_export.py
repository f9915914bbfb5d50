"""A merge that somebody wrote: the adapter is added to the base, then taken off.

What is saved is a whole model, without any trace of PEFT.
"""

import tempfile

import torch

from ftlab.faults.adapter.several_adapters import (
    healthy_second_stage_in_the_same_optimizer as second_stage,
)
from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build a LoRA run that ends with an export."""
    model = lora()

    def export() -> None:
        learned = dict(second_stage.deltas(model))
        base = model.unload()
        with torch.no_grad():
            for name, delta in learned.items():
                base.get_submodule(name).weight += delta
        with tempfile.TemporaryDirectory() as folder:
            base.save_pretrained(folder)

    return plain_case(model, lr=5e-3, afterwards=export)


HEALTHY = Healthy(
    "the trained adapter is unloaded, and a whole model is saved without it",
    looks_like=("ADP020", "ADP007"),
    steps=20,
)
