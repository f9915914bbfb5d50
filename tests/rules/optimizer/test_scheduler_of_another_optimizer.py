"""OPT008."""

import pytest

from ftlab.rules.optimizer.scheduler_of_another_optimizer import (
    SchedulerOfAnotherOptimizer,
)
from tests.runs import RunBuilder, only, report_by

OPTIMIZERS = ({"groups": [{}]}, {"groups": [{}]})


def same(_):
    return 1e-3


def report(owner, used=same, schedulers=None, steps=8, target=0):
    known = schedulers or ({"optimizer_index": owner},)
    builder = RunBuilder().facts(optimizers=OPTIMIZERS, schedulers=known)
    for step in range(steps):
        lr = [used(step), 1.0 / (step + 1)]
        rates = {"lr_before": [1.0 / (step + 1)], "lr_after": [1.0 / (step + 2)]}
        builder.step(
            ops=[
                ("step", f"optimizer {target}", {"lr": lr}),
                ("scheduler_step", "scheduler 0", rates),
            ]
        )
    return report_by(SchedulerOfAnotherOptimizer(), builder.run)


@pytest.mark.parametrize("owner", [1, None])
def test_finds_a_schedule_whose_optimizer_never_steps(owner):
    only(report(owner).findings, place="call scheduler.step", rate_in_use=1e-3)


def test_a_schedule_of_the_optimizer_that_steps_is_fine():
    assert report(0).findings == ()


def test_rates_that_are_copied_over_by_hand_are_fine():
    assert report(1, used=lambda step: 1.0 / (step + 1)).findings == ()


def test_the_one_that_steps_may_have_a_schedule_of_its_own():
    both = ({"optimizer_index": 1}, {"optimizer_index": 0})
    assert report(1, schedulers=both).findings == ()


def test_three_moves_are_not_enough():
    assert report(1, steps=3).findings == ()


def test_a_run_without_a_scheduler_is_left_out():
    run = RunBuilder().step(ops=["step"]).run
    found = report_by(SchedulerOfAnotherOptimizer(), run)
    assert not found.findings
    assert not found.not_checked
