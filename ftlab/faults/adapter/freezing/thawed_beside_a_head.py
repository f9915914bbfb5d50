"""A value head learns over a finished adapter, and a look at the base thaws that one.

The adapter was loaded without ``is_trainable=True``. Leaving ``disable_adapter`` makes
it trainable all the same, and the optimizer was given all that the model has.

Fix: freeze it again after ``disable_adapter``; give the optimizer the head alone.
Source: huggingface/peft#3447.
"""

import torch

from ftlab.faults.builders import Case, Fault, at, base, batches, loop_with
from ftlab.faults.builders.saved import loaded, saved, taught
from ftlab.faults.builders.value_head import ValueHead

LOOK = 2
"""The step before which the base model is looked at."""


def build(fixed: bool) -> Case:
    """Build a head over a loaded adapter, and look at the base once."""
    bare = base()
    model = ValueHead(loaded(bare, saved(taught(), owner=bare)))
    optimizer, made = torch.optim.AdamW(model.parameters(), lr=3e-3), batches()

    def interrupt() -> None:
        with model.inner.disable_adapter(), torch.no_grad():
            model.inner(**made[0])
        if fixed:
            model.inner.requires_grad_(False)

    return loop_with(model, optimizer, made, before=at(LOOK, interrupt))


FAULT = Fault(
    "only a head should learn, and the finished adapter below it changes",
    code="ADP045",
    places=("param *.lora_?.*", "call disable_adapter"),
    evident=LOOK,
    families=("llama", "gpt2", "neox", "own"),
)
