"""Learning rates and schedulers are taken back with the step that moved them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler

import ftlab
from ftlab.replay.capsules.options import KeptOptions


class Loop:
    """A step whose learning rate moves before the weights do."""

    def __init__(self, schedule: Callable[[Any], Any] | None) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.scheduler = None if schedule is None else schedule(self.optimizer)
        self.feed = list(torch.randn(5, 3, 4))

    def step(self, batch: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = self.model(batch).square().mean()
        loss.backward()
        if isinstance(self.scheduler, lr_scheduler.ReduceLROnPlateau):
            self.scheduler.step(loss.detach())
        elif self.scheduler is not None:
            self.scheduler.step()
        else:
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.5
        self.optimizer.step()
        return loss.detach()


def chained(optimizer: torch.optim.Optimizer) -> Any:
    parts = [
        lr_scheduler.LinearLR(optimizer, total_iters=2),
        lr_scheduler.ExponentialLR(optimizer, 0.5),
    ]
    return lr_scheduler.SequentialLR(optimizer, parts, milestones=[2])


def on_plateau(optimizer: torch.optim.Optimizer) -> Any:
    return lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=0.9)


SCHEDULES = [
    None,
    lambda optimizer: lr_scheduler.StepLR(optimizer, 1, 0.5),
    lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=9),
    lambda optimizer: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2),
    chained,
    on_plateau,
]


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
@pytest.mark.filterwarnings("ignore:The epoch parameter in")
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_rate_moved_before_the_update_moves_once(schedule):
    bare, loop = Loop(schedule), Loop(schedule)
    for batch in bare.feed:
        bare.step(batch)

    def step(batch: torch.Tensor) -> torch.Tensor:
        if batch is loop.feed[1] and dbg.where.step == 1:
            dbg.interrupt()
        return loop.step(batch)

    with ftlab.debug(
        step, loop.feed, model=loop.model, optimizer=loop.optimizer
    ) as dbg:
        assert dbg.run().reason == "interrupt"
        assert dbg.back().site is not None
        dbg.resume()
        while dbg.state == "paused":
            dbg.resume()
    rates = [each.optimizer.param_groups[0]["lr"] for each in (bare, loop)]
    assert rates[0] == rates[1]
    assert torch.equal(bare.model.weight, loop.model.weight)


def test_added_options_go_and_tensors_stay_the_same_objects():
    rate = torch.tensor(0.1)
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.AdamW([parameter], lr=rate)
    kept = KeptOptions(optimizer)
    group = optimizer.param_groups[0]
    group["new"], group["betas"] = 1, (0.0, 0.0)
    rate.fill_(5)
    kept.restore()
    assert group["lr"] is rate
    assert float(rate) == pytest.approx(0.1)
    assert group["betas"] == (0.9, 0.999)
    assert "new" not in group
    assert group["params"] == [parameter]
