"""A slot for LoHa is reset by zeroing: a factor too many is 0.

LoHa multiplies two products element by element, and starts with one factor of the
second at 0. With both factors of it at 0 no gradient arrives at any of the four.

Fix: ``reset_adapter_parameters(adapter)`` in place of ``zero_()``.
Source: NovaSky-AI/SkyRL#852, with another method.
"""

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.methods import tuned
from ftlab.faults.builders.tiny import adamw, batches
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build LoHa and zero its second product."""
    model = tuned("LoHaConfig", r=4, alpha=8)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "hada_w2_" in name and not fixed:
                parameter.zero_()
    optimizer = adamw(model, lr=1e-2)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


FAULT = Fault(
    "hadamard-of-two-zeros",
    "a LoHa adapter that was reset never learns again",
    code="ADP039",
    places=("param *.hada_w2_?.*",),
    builder=build,
    steps=10,
    evident=1,
    families=("llama", "neox", "own"),
)
