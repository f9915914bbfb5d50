"""A finished adapter is frozen beside a new one, and a look at the base thaws it.

Leaving ``disable_adapter`` makes all active adapters trainable again. The optimizer
that is built afterwards takes the finished one along.

Fix: freeze it again after ``disable_adapter``, and build the optimizer then.
Source: huggingface/peft#3447.
"""

from typing import Any

import torch

from ftlab.faults.fault import Case, Fault
from ftlab.faults.loops import plain_step
from ftlab.faults.saved import loaded, saved, taught
from ftlab.faults.tiny import adamw, base, batches, lora_config


def build(fixed: bool) -> Case:
    """Build a second adapter on top of a finished one."""
    bare = base()
    model: Any = loaded(bare, saved(taught(), owner=bare))
    model.add_adapter("later", lora_config(bare))
    model.base_model.set_adapter([*model.peft_config])
    for name, weight in model.named_parameters():
        weight.requires_grad_(".later." in name)
    if not fixed:
        with model.disable_adapter(), torch.no_grad():
            model(**batches()[0])
    optimizer = adamw(model, lr=5e-3)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


FAULT = Fault(
    "stage-thawed-by-disabling",
    "the adapter of the first stage changes in the second one",
    code="ADP045",
    places=("param *.lora_?.*", "call disable_adapter"),
    builder=build,
    steps=6,
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
