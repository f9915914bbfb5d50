"""The adapter is made stronger for each forward, and never weaker again.

``scale_layer`` multiplies what is there: without ``unscale_layer`` it piles up.

Fix: ``unscale_layer()`` when the forward is over.
Source: huggingface/peft, ``LoraLayer.scale_layer`` and ``unscale_layer``.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA whose layers are scaled around each forward."""
    from peft.tuners.lora.layer import LoraLayer

    model = lora()
    layers = [m for m in model.modules() if isinstance(m, LoraLayer)]

    def loss_of(batch: Any) -> torch.Tensor:
        for layer in layers:
            layer.scale_layer(1.02)
        loss: torch.Tensor = model(**batch).loss
        for layer in layers if fixed else ():
            layer.unscale_layer()
        return loss

    return plain_case(model, lr=1e-3, loss_of=loss_of)


FAULT = Fault(
    "the adapter takes over, step by step",
    code="ADP017",
    places=("module *",),
    steps=66,
    evident=64,
    also=("ADP036", "ADP037"),
    families=("llama", "gpt2", "neox", "own"),
)
