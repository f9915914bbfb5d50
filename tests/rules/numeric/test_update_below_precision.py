"""NUM002."""

import math

import pytest

from ftlab.rules.numeric.update_below_precision import UpdateBelowPrecision
from tests.runs import RunBuilder, checker, only

check = checker(UpdateBelowPrecision())


def stuck(*shares, rates=(1e-5,) * 48, every=16, sizes=((8, 8),), skipped=()):
    builder = RunBuilder()
    for index, shape in enumerate(sizes):
        builder.tensor(f"w{index}", shape=shape, dtype="bfloat16")
    for step, rate in enumerate(rates):
        measured = {"has_grad": 1.0}
        if step % every == 0:
            measured["stuck_share"] = shares
        builder.step(measured, lr=(rate,), skipped=step in skipped)
    return builder


def test_finds_weights_that_stand_still():
    finding = only(check(stuck(0.95, rates=(1e-5,) * 48)), "error", steps=(0, 32))
    assert "95 % of the weights in 1 tensor (100 % of the trained elements)" in (
        finding.message
    )
    assert "bfloat16" in finding.cause
    assert "1e-05" in finding.cause


@pytest.mark.parametrize(("share", "found"), [(0.89, 0), (0.9, 1)])
def test_takes_nine_tenths_of_a_tensor(share, found):
    assert len(check(stuck(share))) == found


@pytest.mark.parametrize(("steps", "found"), [(16, 0), (17, 1)])
def test_takes_two_measurements(steps, found):
    assert len(check(stuck(1.0, rates=(1e-5,) * steps))) == found


def test_is_quiet_when_it_moved_at_one_measurement():
    builder = RunBuilder()
    builder.tensor("w", dtype="bfloat16")
    for share in (1.0, 1.0, 0.2):
        builder.step({"stuck_share": [share]})
    assert check(builder) == ()


@pytest.mark.parametrize(("least", "found"), [(0.74, 0), (0.76, 1)])
def test_the_first_update_may_move_more_of_them(least, found):
    builder = RunBuilder()
    builder.tensor("w", dtype="bfloat16")
    for share in (least, 0.92, 0.94):
        builder.step({"stuck_share": [share]})
    assert len(check(builder)) == found


def test_norm_weights_alone_are_let_pass():
    assert check(stuck(1.0, 0.1, sizes=((10,), (10, 10)))) == ()
    finding = only(check(stuck(1.0, 0.1, sizes=((10,), (10, 9)))), "warning")
    assert finding.place.name == "w0"


def test_is_quiet_during_warm_up():
    rates = [1e-7 * (step + 1) for step in range(48)]
    assert check(stuck(1.0, rates=rates)) == ()


def test_is_quiet_at_the_end_of_a_decay():
    builder = RunBuilder()
    builder.tensor("w", dtype="bfloat16")
    for step in range(65):
        share = 0.1 if step < 32 else 1.0
        columns = {"stuck_share": [share]} if step % 16 == 0 else None
        builder.step(columns, lr=(1e-4 * (1 - step / 65),))
    assert check(builder) == ()


def test_is_quiet_while_the_rate_still_rises():
    rates = [5e-6 * (1 + step / 48) for step in range(48)]
    assert check(stuck(1.0, rates=rates)) == ()


def test_only_measurements_near_the_largest_rate_count():
    rates = [1e-5] * 8 + [1e-6] * 40
    assert check(stuck(1.0, rates=rates)) == ()


def test_counts_after_the_warm_up():
    rates = [1e-6 * min(step + 1, 10) for step in range(64)]
    (finding,) = check(stuck(1.0, rates=rates))
    assert finding.first_step == 16


def test_skipped_measurements_do_not_count():
    assert check(stuck(1.0, skipped=(0, 16))) == ()


def test_nan_means_nothing_could_move():
    assert check(stuck(math.nan)) == ()


def test_weights_in_no_group_are_not_judged():
    builder = RunBuilder()
    builder.tensor("w", dtype="bfloat16", meta={"group": -1})
    builder.steps(4, {"stuck_share": [1.0]})
    assert check(builder) == ()


def test_weights_that_are_moved_in_turn_are_let_pass():
    builder = RunBuilder()
    builder.tensor("w", dtype="bfloat16")
    builder.facts(optimizers=({"module": "lab.kahan", "groups": [{}]},))
    for step in range(4):
        still = {"still_share": 0.97 ** (16 * step), "still_steps": 16.0 * step}
        builder.step({"stuck_share": 0.97} | still, lr=(1e-6,))
    assert check(builder) == ()
