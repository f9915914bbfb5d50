"""The reference of preference training is a shallow copy: it shares every weight.

``copy.copy`` makes a new module around the same submodules. TRL refuses the policy
itself as the reference; such a copy passes. All rewards stay 0.

Fix: ``reference = copy.deepcopy(model).eval()``, before the first step.
Source: huggingface/trl#2046, #5534, #1627 (rewards that stay 0).
"""

import copy

from ftlab.faults.builders import Case, Fault, adamw, base
from ftlab.faults.builders.preferences import log_chance, pairs, preferring


def build(fixed: bool) -> Case:
    """Build DPO on a whole model."""
    model = base()
    reference = (copy.deepcopy if fixed else copy.copy)(model)
    optimizer = adamw(model)
    step = preferring(model, optimizer, lambda ids: log_chance(reference, ids))
    return Case(model, optimizer, pairs(), step)


FAULT = Fault(
    "the loss stays at 0.6931 and every reward at 0",
    code="ADP031",
    places=("object reference", "call copy.copy"),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
