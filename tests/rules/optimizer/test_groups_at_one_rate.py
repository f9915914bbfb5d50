"""OPT019."""

import pytest

from ftlab.rules.optimizer.groups_at_one_rate import GroupsAtOneRate
from tests.runs import RunBuilder, found_by, only


def check(*rates, made=(1.0, 100.0), schedulers=(), ops=()):
    groups = [{"lr": rate} for rate in made]
    builder = RunBuilder().facts(
        optimizers=({"class": "AdamW", "groups": groups},), schedulers=schedulers
    )
    for each in rates:
        builder.step(lr=each, ops=ops)
    return found_by(GroupsAtOneRate(), builder.run)


FLAT = ((100.0, 100.0), (90.0, 90.0), (80.0, 80.0))


def test_is_quiet_on_healthy_runs():
    assert check((1.0, 100.0), (0.9, 90.0), (0.8, 80.0), (0.7, 70.0)) == ()


def test_rates_that_were_never_used():
    finding = only(check(*FLAT), "warning", "optimizer lr", reason="never-used")
    assert (finding.first_step, finding.last_step) == (0, 2)
    assert "all 2 groups of optimizer 0 have a learning rate of 100" in finding.message
    assert check(*FLAT[:2]) == ()


def test_rates_that_were_given_up_may_be_a_second_stage():
    only(check((1.0, 100.0), *FLAT), "info", reason="given-up")


def test_a_warmup_from_zero_is_no_use_of_rates():
    only(check((0.0, 0.0), *FLAT), "warning")


@pytest.mark.parametrize(
    "options",
    [
        {"made": (0.0, 100.0)},  # frozen, then thawed
        {"made": (100.0, 100.0)},
        {"made": (100.0, 200.0)},  # a floor that all reach
        {"schedulers": ({"class": "CosineAnnealingLR"},)},
        {"ops": (("scheduler_step", "scheduler 0", {}),)},
    ],
)
def test_what_has_another_reason_is_left_alone(options):
    assert check(*FLAT, **options) == ()
