"""A run is resumed by hand with the optimizer's state, and without the scheduler's.

Loading puts the old learning rate into the optimizer. The schedule still stands at its
beginning: its first step takes the rate back to the warm-up.

Fix: save and load ``scheduler.state_dict()`` with the optimizer's.
Source: nerfstudio-project/nerfstudio#2203 (the checkpoint had no scheduler),
lightly-ai/lightly-train#301 (last_epoch is -1 after a resume).
"""

import copy
from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Fault

WARM_UP = 10


def build(fixed: bool) -> Case:
    """Build the second half of a run, after its warm-up."""
    model, optimizer, scheduler = _fresh()
    step = plain_step(model, optimizer, scheduler)
    Case(model, optimizer, batches(), step).run(2 * WARM_UP)
    tensors = {k: p for k, p in model.named_parameters() if p.requires_grad}
    again, second, schedule = _fresh()
    again.load_state_dict(tensors, strict=False)
    second.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    if fixed:
        schedule.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    step = plain_step(again, second, schedule)
    return Case(again, second, batches(), step, scheduler=schedule)


def _fresh() -> tuple[Any, Any, Any]:
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARM_UP)
    )
    return model, optimizer, rates


FAULT = Fault(
    "after a resume the learning rate drops and the warm-up comes again",
    code="ADP027",
    places=("call lr_scheduler.last_epoch",),
    steps=10,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
