"""Loop bodies that are right."""

import pytest
import torch

from ftlab.faults.builders.loops import loss_step, plain_step
from ftlab.faults.builders.tiny import adamw, batches, llama
from ftlab.faults.variation import Variation, varied


@pytest.mark.parametrize("style", ["plain", "zero-after", "accumulate"])
def test_every_style_makes_the_same_update(style):
    (batch,), ends = batches(1), []
    for loop in ("plain", style):
        model = llama()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with varied(Variation(loop=loop)):
            step = plain_step(model, optimizer)
        step(batch)
        ends.append(model.lm_head.weight.detach())
    assert torch.allclose(*ends, atol=1e-6)


def test_a_loss_of_ones_own_is_stepped_on():
    model, (batch,) = llama(), batches(1)
    step = loss_step(lambda b: 2 * model(**b).loss, adamw(model, lr=1e-2))
    assert step(batch) == pytest.approx(2 * 4.83, rel=0.01)
    assert step(batch) < 9


def test_gradients_are_clipped_and_the_schedule_is_stepped():
    model, (batch,) = llama(), batches(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    loss_step(lambda b: model(**b).loss, optimizer, schedule, clip=1e-3)(batch)
    squares = [p.grad.square().sum() for p in model.parameters()]
    assert torch.stack(squares).sum().sqrt() <= 1.001e-3
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1)
