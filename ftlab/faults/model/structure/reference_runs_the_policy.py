"""The reference of DPO is a deep copy, and runs the policy: every reward stays 0.

``model.forward = torch.compile(model.forward)`` sets a function on the instance that is
bound to the model. ``copy.deepcopy`` copies a function as itself: the copy has weights
of its own, and the forward of the policy.

Fix: copy first and compile afterwards, or ``model.compile()``, which survives a copy.
Source: huggingface/accelerate#1835, #1971 (a copy that runs the original's forward).
"""

import copy

import torch

from ftlab.faults.builders import Case, Fault, adamw, base
from ftlab.faults.builders.preferences import log_chance, pairs, preferring


def build(fixed: bool) -> Case:
    """Build DPO on a whole model that is compiled."""
    model = base()
    first = copy.deepcopy(model)
    model.forward = torch.compile(model.forward, backend="eager")
    reference = (first if fixed else copy.deepcopy(model)).eval()
    optimizer = adamw(model)
    step = preferring(model, optimizer, lambda ids: log_chance(reference, ids))
    return Case(model, optimizer, pairs(), step)


FAULT = Fault(
    "the loss stays at 0.6931, although the reference is a deep copy",
    code="MOD018",
    places=("call copy.deepcopy",),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
