"""``merge_and_unload()`` merges the adapter, and code that follows adds it once more.

A script for any kind of adapter merges by itself what PEFT has merged before.

Fix: one of the two.
Source: huggingface/peft#1064, #1040 (merged twice).
"""

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case
from ftlab.faults.builders.hand_merges import adapted, right


def build(fixed: bool) -> Case:
    """Build a LoRA run that ends with an export."""
    model = lora()

    @torch.no_grad()
    def export() -> None:
        learned = [
            (layer.get_base_layer().weight, right(layer, adapter))
            for layer in adapted(model)
            for adapter in layer.active_adapters
        ]
        model.merge_and_unload()
        for weight, delta in [] if fixed else learned:
            weight += delta

    return plain_case(model, lr=5e-3, afterwards=export)


FAULT = Fault(
    "the merged model over-does what the adapter has learnt",
    code="ADP009",
    places=("param *base_layer.weight",),
    steps=12,
    evident=11,
    families=("llama", "gpt2", "neox", "own"),
)
