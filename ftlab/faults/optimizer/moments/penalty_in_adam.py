"""LoRA's first factor walks to 0: Adam's weight decay is a penalty in the gradient.

`torch.optim.Adam` was taken with the weight decay of an AdamW recipe. It adds decay x
weight to the gradient, far more than the gradient of lora_A is, and then divides by the
size of the sum: each weight moves towards 0 by the whole learning rate.

Fix: ``torch.optim.AdamW``, or ``weight_decay=0.0``.
Source: pytorch/pytorch#48793; measured.
"""

import torch

from ftlab.faults.builders import Case, Fault, loop_case, lora, trainable


def build(fixed: bool) -> Case:
    """Train LoRA with AdamW, or with Adam."""
    model = lora()
    kind = torch.optim.AdamW if fixed else torch.optim.Adam
    optimizer = kind(trainable(model), lr=2e-4, weight_decay=0.1)
    return loop_case(model, optimizer)


FAULT = Fault(
    "the first factors of LoRA shrink as fast as the learning rate lets them",
    code="OPT022",
    places=("optimizer weight_decay",),
    steps=18,
    evident=16,
    families=("llama", "gpt2", "neox", "own"),
)
