"""A run is resumed by hand: the adapter is loaded, the optimizer and schedule are new.

Adam begins with empty moments and its bias correction at step 1, and the warm-up comes
a second time: the loss jumps, and the run goes another way than it would have.

Fix: save and load the state of optimizer and scheduler with the adapter.
Source: huggingface/peft#859, ace-step/ACE-Step-1.5#742, lm-sys/FastChat#1280,
tloen/alpaca-lora#72.
"""

import copy
from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build the second half of a run."""
    model, optimizer, scheduler = _fresh()
    step = plain_step(model, optimizer, scheduler)
    Case(model, optimizer, batches(), step).run(20)
    tensors = {k: p for k, p in model.named_parameters() if p.requires_grad}
    again, second, schedule = _fresh()
    again.load_state_dict(tensors, strict=False)
    if fixed:
        second.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        schedule.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    step = plain_step(again, second, schedule)
    return Case(again, second, batches(), step, scheduler=schedule)


def _fresh() -> tuple[Any, Any, Any]:
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 10)
    )
    return model, optimizer, rates


FAULT = Fault(
    "the loss jumps right after the resume, and the warm-up comes again",
    code="ADP027",
    places=("optimizer state", "call lr_scheduler.last_epoch"),
    steps=10,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
