"""The second half of a run that was interrupted, and is resumed by hand."""

import copy
from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case

WARM_UP = 10


def second_half(*, moments: bool, schedule: bool) -> Case:
    """Make the case of a LoRA whose adapter is loaded after a run's warm-up.

    Parameters
    ----------
    moments, schedule
        Whether the optimizer's state is loaded as well, and the scheduler's.
    """
    model, optimizer, scheduler = _fresh()
    step = plain_step(model, optimizer, scheduler)
    Case(model, optimizer, batches(), step).run(2 * WARM_UP)
    tensors = {k: p for k, p in model.named_parameters() if p.requires_grad}
    again, second, rates = _fresh()
    again.load_state_dict(tensors, strict=False)
    if moments:
        second.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    if schedule:
        rates.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    step = plain_step(again, second, rates)
    return Case(again, second, batches(), step, scheduler=rates)


def _fresh() -> tuple[Any, Any, Any]:
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARM_UP)
    )
    return model, optimizer, rates
