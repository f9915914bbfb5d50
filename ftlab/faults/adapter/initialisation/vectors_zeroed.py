"""IA3 is "emptied" as LoRA would be: its vectors are set to 0.

IA3 multiplies; 0 takes keys, values and the feed-forward part away altogether.

Fix: ``torch.nn.init.ones_``, or ``reset_ia3_parameters(adapter)``.
Source: code written for LoRA's ``zeros_(lora_B)``, used with another method.
"""

import torch

from ftlab.faults.builders import Case, Fault, plain_case, trainable
from ftlab.faults.builders.methods import rescaled


def build(fixed: bool) -> Case:
    """Build IA3 and set it to 1 or to 0."""
    model = rescaled()
    for vector in trainable(model):
        torch.nn.init.constant_(vector, 1.0 if fixed else 0.0)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "with a fresh adapter the model says the same to everything",
    code="ADP032",
    places=("param *.ia3_l.*",),
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
