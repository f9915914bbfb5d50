"""A is filled with one value where it should be drawn.

A reset of an adapter, or an initialisation of one's own, uses ``constant_`` to begin
with small numbers. All rows of A are the same, all columns of B get the same gradient,
and the adapter has rank 1 for ever.

Fix: ``torch.nn.init.kaiming_uniform_(lora_A, a=math.sqrt(5))``.
Source: seed; Hu et al. 2021, section 4.1; ostris/ai-toolkit#724 (ranks that never get
to be used).
"""

import torch

from ftlab.faults.fault import Case, Fault
from ftlab.faults.loops import plain_step
from ftlab.faults.tiny import adamw, batches, lora

VALUE = 0.02


def build(fixed: bool) -> Case:
    """Build a LoRA whose A are drawn, or filled."""
    model = lora()
    if not fixed:
        for name, parameter in model.named_parameters():
            if "lora_A" in name:
                torch.nn.init.constant_(parameter, VALUE)
    optimizer = adamw(model)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


FAULT = Fault(
    "a-filled-with-one-value",
    "a larger r makes no difference, and the adapter learns less than others",
    code="ADP051",
    places=("param *lora_A.*",),
    builder=build,
    steps=6,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
