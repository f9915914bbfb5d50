"""A classifier learns slowly, for its new head stays as it was drawn.

A loop swaps every linear layer for one of 4 bits, the new head among them. The adapter
learns, the head cannot: its weight are bytes.

Fix: leave the head out of the loop, and name it in ``modules_to_save``.
Source: huggingface/transformers#24037, unslothai/unsloth-zoo#594 (heads in 4 bits).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, batches, classes, lora, plain_case
from ftlab.faults.builders.heads import classifier


def quantise(model: Any, skipped: tuple[str, ...]) -> None:
    """Put a layer of 4 bits in the place of each linear one."""
    import bitsandbytes as bnb

    for path, layer in list(model.named_modules()):
        if type(layer) is not torch.nn.Linear or path in skipped:
            continue
        made = bnb.nn.Linear4bit(
            layer.in_features,
            layer.out_features,
            bias=layer.bias is not None,
            compute_dtype=torch.float32,
            quant_type="nf4",
        )
        made.weight = bnb.nn.Params4bit(
            layer.weight.data, requires_grad=False, quant_type="nf4"
        )
        made.bias = layer.bias
        made.support_avx512bf16_for_cpu = False
        model.set_submodule(path, made.to("cpu"))


def build(fixed: bool) -> Case:
    """Quantise a classifier with its head, or without."""
    model = classifier()
    quantise(model, ("score",) if fixed else ())
    kept = ["score"] if fixed else None
    model = lora(model, task_type=None, modules_to_save=kept)
    rows = classes(batches())
    return plain_case(model, rows=rows)


FAULT = Fault(
    "a new head is quantised before it was ever trained",
    code="MOD007",
    places=("module *score",),
    evident=-1,
    families=("llama", "neox"),
    needs=("bitsandbytes>=0.46",),
)
