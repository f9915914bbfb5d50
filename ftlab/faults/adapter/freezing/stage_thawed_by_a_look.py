"""A finished adapter is frozen beside a new one, and a look at the new one thaws it.

An evaluation makes the new adapter the only active one, and then both again, as before.
``set_adapter`` makes trainable what it makes active. The optimizer was given the
tensors of both, of which the frozen one had no gradient until then.

Fix: freeze it again after ``set_adapter``; give the optimizer the new one alone.
Source: PEFT, ``set_adapter``: "will set the specified adapters to trainable".
"""

from typing import Any

import torch

from ftlab.faults.adapter.freezing.stage_thawed_by_disabling import LOOK, freeze
from ftlab.faults.builders import Case, Fault, at, base, batches, loop_with, lora_config
from ftlab.faults.builders.saved import loaded, saved, taught


def build(fixed: bool) -> Case:
    """Build a second adapter on top of a finished one, and look at it alone once."""
    bare = base()
    model: Any = loaded(bare, saved(taught(), owner=bare))
    model.add_adapter("later", lora_config(bare))
    both = [*model.peft_config]
    model.base_model.set_adapter(both)
    freeze(model)
    held = [weight for name, weight in model.named_parameters() if ".lora_" in name]
    optimizer, made = torch.optim.AdamW(held, lr=5e-3, weight_decay=0.0), batches()

    def interrupt() -> None:
        model.set_adapter("later")
        with torch.no_grad():
            model(**made[0])
        model.base_model.set_adapter(both)
        if fixed:
            freeze(model)

    return loop_with(model, optimizer, made, before=at(LOOK, interrupt))


FAULT = Fault(
    "the adapter of the first stage changes once the second one was looked at",
    code="ADP045",
    places=("param *.lora_?.*", "call set_adapter"),
    evident=LOOK,
    families=("llama", "gpt2", "neox", "own"),
)
