"""OPT013."""

import pytest

from ftlab.rules.optimizer.rate_too_low import RateTooLow
from tests.runs import RunBuilder, checker, only

LINEAR = {
    "schedule": "_get_linear_schedule_with_warmup_lr_lambda",
    "num_warmup_steps": 0,
    "num_training_steps": 40,
    "base_lrs": [1e-7],
}
check = checker(RateTooLow())


def run(growth=2e-6, steps=18, rate=1e-7, begin=0.0, schedulers=(), **training):
    builder = RunBuilder()
    builder.facts(training=training, schedulers=schedulers)
    builder.lora("layers.0")
    for step in range(steps):
        size = begin + growth * step
        builder.step(None, {"ratio": size} if step % 8 == 0 else None, lr=(rate,))
    return builder


def test_is_quiet_where_the_adapter_grows():
    assert check(run(growth=1e-4, max_steps=20)) == ()
    assert check(run(growth=1e-4)) == ()


def test_too_small_at_the_end_of_a_run_whose_length_is_known():
    finding = only(check(run(max_steps=30)), "warning", "optimizer lr")
    assert finding.evidence["reason"] == "planned"
    assert finding.evidence["projected"] == pytest.approx(3.2e-5 * 30 / 16, rel=1e-3)


def test_a_long_run_that_learns_slowly_will_get_there():
    assert check(run(max_steps=600)) == ()
    assert len(check(run(max_steps=300))) == 1


def test_more_is_asked_of_a_run_that_is_over_than_of_one_that_may_go_on():
    assert check(run(growth=2e-5)) == ()
    only(check(run(growth=2e-5, max_steps=20)), threshold=1e-3)


def test_what_the_schedule_takes_away_does_not_come():
    plan = ({"class": "LambdaLR", "asked": LINEAR},)
    (finding,) = check(run(schedulers=plan, max_steps=40))
    total = sum(1e-7 * (1 - step / 40) for step in range(40))
    planned = 3.2e-5 * total / (16 * 1e-7)
    assert finding.evidence["projected"] == pytest.approx(planned, rel=1e-3)


def test_a_run_of_unknown_length_is_noted_only():
    only(check(run()), "info", reason="so-far")


@pytest.mark.parametrize(
    "case",
    [
        {"steps": 12},  # too early
        {"growth": 0.0},  # nothing at all: ADP001
        {"rate": 0.0},
        {"begin": 9e-5, "growth": -1e-6},  # shrinks
        {"begin": 0.3},
    ],
)
def test_says_nothing_where_it_cannot_know(case):
    assert check(run(**case)) == ()
