"""OPT016."""

import pytest

from ftlab.rules.optimizer.rate_off_schedule import RateOffSchedule
from tests.runs import RunBuilder, checker, only

STAIRS = {"step_size": 4, "gamma": 0.1, "base_lrs": [1e-2]}
FUNCTION = {"schedule": "<lambda>", "base_lrs": [1e-3]}
check = checker(RateOffSchedule())


def run(*rates, asked=STAIRS, kind="StepLR", begin=8, schedulers=1, changed=()):
    plan = {"class": kind, "optimizer_index": 0, "asked": asked}
    builder = RunBuilder().facts(schedulers=(plan,) * schedulers)
    before = rates[0]
    for number, rate in enumerate(rates):
        before = 0.5 if number in changed else before
        detail = {
            "lr_before": [before],
            "lr_after": [rate],
            "epoch": begin + number + 1,
        }
        moves = ("scheduler_step", "scheduler 0", detail)
        builder.step(ops=("forward", "backward", ("step", "optimizer 0", {}), moves))
        before = rate
    return builder


def test_is_quiet_on_healthy_runs():
    assert check(run(1e-4, 1e-4, 1e-4, 1e-5)) == ()
    assert check(run(1e-3, 9e-4, 8e-4, asked=FUNCTION, kind="LambdaLR")) == ()


def test_a_rate_that_was_not_loaded_with_the_schedule():
    finding = only(check(run(1e-2, 1e-2, 1e-2, 1e-3)), place="optimizer lr")
    assert finding.evidence["reason"] == "off-formula"
    assert "at step 9 of its schedule StepLR sets 0.01" in finding.message
    assert "gives 0.0001" in finding.message


@pytest.mark.parametrize(
    "case",
    [
        {"changed": (1,)},  # by hand
        {"schedulers": 2},  # chained
        {"begin": -9},  # stands before its own beginning
    ],
)
def test_what_others_have_moved_is_not_judged(case):
    assert check(run(1e-2, 1e-2, 1e-2, **case)) == ()
    assert check(run(1e-2, 1e-2)) == ()


def test_a_window_that_begins_later_may_have_missed_a_hand():
    plan = {"class": "StepLR", "optimizer_index": 0, "asked": STAIRS}
    builder = RunBuilder().facts(schedulers=(plan,))
    builder.step(ops=("forward",))
    builder.step_number = 5
    for epoch in (9, 10, 11):
        detail = {"lr_before": [1e-2], "lr_after": [1e-2], "epoch": epoch}
        builder.step(ops=(("scheduler_step", "scheduler 0", detail),))
    assert check(builder) == ()


def test_a_function_that_returns_a_rate():
    sick = {"asked": FUNCTION, "kind": "LambdaLR", "begin": 0}
    only(check(run(1e-6, 9e-7, 8e-7, **sick)), reason="rate-as-factor")
    assert len(check(run(5e-7, 1e-6, 9e-7, **sick))) == 1
    assert check(run(5e-7, 1e-6, 2e-6, **sick)) == ()
    assert check(run(5e-7, 4e-7, 3e-7, **sick)) == ()
    large = {"asked": FUNCTION | {"base_lrs": [1.0]}, "kind": "LambdaLR"}
    assert check(run(1.0, 1.0, 1.0, **large)) == ()
