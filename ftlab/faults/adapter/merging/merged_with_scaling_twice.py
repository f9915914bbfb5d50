"""A merge by hand multiplies by the scaling what holds the scaling already.

``get_delta_weight()`` returns scaling x B A; somebody multiplies it by alpha / r again.

Fix: ``W += layer.get_delta_weight(name)``, as it is.
Source: seed; huggingface/peft#1355 (a delta that counts twice).
"""

from typing import Any

import torch

from ftlab.faults.builders.hand_merges import exported, right
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.builders.trainers import folder
from ftlab.faults.fault import Case, Fault
from ftlab.faults.variation import current


def build(fixed: bool) -> Case:
    """Build a LoRA run with a large alpha, which is exported in the end."""
    model = lora(lora_alpha=3 * current().rank)
    path = folder(model)
    optimizer = adamw(model, lr=3e-3)

    def export() -> None:
        exported(model, right if fixed else _scaled, path)

    step = plain_step(model, optimizer)
    return Case(model, optimizer, batches(), step, afterwards=export)


def _scaled(layer: Any, adapter: str) -> torch.Tensor:
    return right(layer, adapter) * float(layer.scaling[adapter])


FAULT = Fault(
    "merged-with-scaling-twice",
    "the exported model over-does what the adapter has learnt",
    code="ADP009",
    places=("param *base_layer.weight",),
    builder=build,
    steps=12,
    evident=11,
    families=("llama", "gpt2", "neox", "own"),
)
