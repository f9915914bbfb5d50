"""Merge cycles wear a base in bf16: it is rounded twice in each.

``(W + dW) - dW`` is not W. Over many cycles of a weight sync the errors add up in the
frozen base.

Fix: restore the base from a copy after each cycle, sync only the adapter, or hold the
base in float32.
Source: huggingface/trl#6688, KohakuBlueleaf/LyCORIS#264.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, loop_with, lora


def build(fixed: bool) -> Case:
    """Build a loop that merges and unmerges after each step."""
    model = lora(base() if fixed else base().to(torch.bfloat16))
    optimizer = adamw(model, lr=1e-2)

    def merge_and_back(_: int) -> None:
        model.merge_adapter()
        model.unmerge_adapter()

    return loop_with(model, optimizer, batches(), after=merge_and_back)


FAULT = Fault(
    "a long run with merged weight sync slowly degrades",
    code="ADP007",
    places=("param *.base_layer.weight",),
    steps=10,
    evident=1,
    families=("llama", "gpt2", "neox"),
)
