"""A merge by hand adds B A to a weight that is kept the other way round.

GPT-2's Conv1D keeps (in, out), Linear (out, in). A square weight takes either.

Fix: ``W += layer.get_delta_weight(name)``, which is turned as the weight is.
Source: predibase/lorax#106, axolotl-ai-cloud/axolotl#3095.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, folder, lora, plain_case
from ftlab.faults.builders.hand_merges import exported, right


def build(fixed: bool) -> Case:
    """Build LoRA on the attention's square weights, which is exported in the end."""
    bare = base()
    squares = {name for name, each in bare.named_modules() if _is_square(each)}
    model = lora(bare, target_modules=sorted(squares))
    path = folder(model)

    def export() -> None:
        exported(model, right if fixed else _turned, path)

    return plain_case(model, lr=5e-3, afterwards=export)


def _is_square(module: torch.nn.Module) -> bool:
    weight = getattr(module, "weight", None)
    return weight is not None and weight.dim() == 2 and len(set(weight.shape)) == 1


def _turned(layer: Any, adapter: str) -> torch.Tensor:
    return right(layer, adapter).T


FAULT = Fault(
    "the exported model has learnt something else than the adapter",
    code="ADP009",
    places=("param *base_layer.weight",),
    steps=12,
    evident=11,
    families=("llama", "gpt2", "neox", "own"),
)
