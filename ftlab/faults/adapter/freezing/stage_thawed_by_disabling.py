"""A finished adapter is frozen beside a new one, and a look at the base thaws it.

Leaving ``disable_adapter`` makes all active adapters trainable again. The optimizer
was given the tensors of both, of which the frozen one had no gradient until then.

Fix: freeze it again after ``disable_adapter``; give the optimizer the new one alone.
Source: huggingface/peft#3447.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, at, base, batches, loop_with, lora_config
from ftlab.faults.builders.saved import loaded, saved, taught

LOOK = 2
"""The step before which the base model is looked at."""


def build(fixed: bool) -> Case:
    """Build a second adapter on top of a finished one, and look at the base once."""
    bare = base()
    model: Any = loaded(bare, saved(taught(), owner=bare))
    model.add_adapter("later", lora_config(bare))
    model.base_model.set_adapter([*model.peft_config])
    freeze(model)
    both = [weight for name, weight in model.named_parameters() if ".lora_" in name]
    optimizer, made = torch.optim.AdamW(both, lr=5e-3, weight_decay=0.0), batches()

    def interrupt() -> None:
        with model.disable_adapter(), torch.no_grad():
            model(**made[0])
        if fixed:
            freeze(model)

    return loop_with(model, optimizer, made, before=at(LOOK, interrupt))


def freeze(model: Any) -> None:
    """Leave the later adapter alone trainable."""
    for name, weight in model.named_parameters():
        weight.requires_grad_(".later." in name)


FAULT = Fault(
    "the adapter of the first stage changes in the second one",
    code="ADP045",
    places=("param *.lora_?.*", "call disable_adapter"),
    evident=LOOK,
    families=("llama", "gpt2", "neox", "own"),
)
