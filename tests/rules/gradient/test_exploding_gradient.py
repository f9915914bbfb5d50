"""GRD002."""

import math

import numpy as np
import pytest

from ftlab.records.finding import Severity
from ftlab.rules.gradient.exploding_gradient import (
    HISTORY,
    ExplodingGradient,
    median_before,
)
from tests.runs import RunBuilder, checker, only, report_by

check = checker(ExplodingGradient())


def norms(*pairs, **fields):
    builder = RunBuilder()
    for norm, loss in pairs:
        builder.step(grad_norm=norm, loss=loss, **fields)
    return builder


CALM = [(1.0, 2.0)] * 10
STORM = [(100.0, 8.0), (50.0, 9.0), (200.0, 20.0)]


def test_names_the_step_where_the_norm_left_its_history():
    finding = only(check(norms(*CALM, *STORM)), "error", steps=(10, 12))
    assert "gradient norm rose from 1 to 100, up to 200" in finding.message
    assert "loss 2 -> 20" in finding.message
    assert "0.001" in finding.cause


def test_finds_it_at_the_second_step():
    assert len(check(norms((1.0, 2.0), *STORM))) == 1


@pytest.mark.parametrize("length", [1, 2])
def test_a_spike_that_passes_is_no_explosion(length):
    assert check(norms(*CALM, *STORM[:length], *CALM)) == ()


def test_a_norm_that_grows_while_the_loss_falls_is_learning():
    falling = [(100.0, 1.9), (200.0, 1.8), (300.0, 1.7)]
    assert check(norms(*CALM, *falling)) == ()


@pytest.mark.parametrize(("peak", "found"), [(29.0, 0), (31.0, 1)])
def test_takes_thirty_times_the_median_once(peak, found):
    assert len(check(norms(*CALM, (12.0, 8.0), (peak, 8.0), (12.0, 8.0)))) == found


@pytest.mark.parametrize(("least", "found"), [(9.0, 0), (11.0, 1)])
def test_takes_ten_times_the_median_throughout(least, found):
    assert len(check(norms(*CALM, (99.0, 5.0), (least, 5.0), (99.0, 5.0)))) == found


@pytest.mark.parametrize(("loss", "found"), [(2.9, 0), (3.1, 1)])
def test_takes_a_loss_of_one_and_a_half(loss, found):
    storm = [(norm, loss) for norm, _ in STORM]
    assert len(check(norms(*CALM, *storm))) == found


@pytest.mark.parametrize(
    ("least", "loss", "found"), [(4.0, 6.1, 1), (2.9, 6.1, 0), (4.0, 5.9, 0)]
)
def test_a_loss_that_was_thrown_far_off_makes_up_for_a_norm_that_falls(
    least, loss, found
):
    assert len(check(norms(*CALM, (99.0, 3.0), (30.0, loss), (least, loss)))) == found


def test_a_loss_that_hovers_around_0_tells_nothing():
    assert check(norms(*[(3e-7, -4e-9)] * 2, *[(0.005, 4e-4)] * 3)) == ()


def test_far_off_is_told_by_the_largest_loss_before():
    shaken = [*CALM, (1.0, 5.0), *CALM]
    assert check(norms(*shaken, (99.0, 3.0), (30.0, 8.0), (4.0, 8.0))) == ()


def test_a_loss_below_zero_is_never_far_off():
    rewarded = [(1.0, -2.0)] * 10
    assert check(norms(*rewarded, (99.0, -1.0), (30.0, 1.0), (4.0, 1.0))) == ()


def test_hard_data_after_easy_data_is_no_explosion():
    learnt = [(2.0, 4.0)] * 3 + [(1e-3, 0.01)] * 20
    assert check(norms(*learnt, *[(2.0, 4.0)] * 5)) == ()


def test_infinities_count_and_nan_losses_too():
    storm = [(100.0, 8.0), (math.inf, math.nan), (math.inf, math.nan)]
    assert len(check(norms(*CALM, *storm))) == 1


def test_nan_norms_are_another_rules_matter():
    assert check(norms(*CALM, *[(math.nan, math.nan)] * 5)) == ()


def test_skipped_steps_are_left_out():
    builder = norms(*CALM)
    builder.steps(5, grad_norm=math.inf, loss=50.0, skipped=True)
    assert check(builder) == ()


def test_a_limit_that_was_never_reached_is_named():
    (finding,) = check(norms(*CALM, *STORM, clip_coefficient=1.0, clip_norm=1e3))
    assert finding.severity is Severity.ERROR
    assert "Clipping to 1e+03 let them through." in finding.cause


@pytest.mark.parametrize(("factor", "limit"), [(0.5, 1.0), (1.0, math.inf)])
def test_a_limit_that_bites_or_is_none_is_not_blamed(factor, limit):
    (finding,) = check(norms(*CALM, *STORM, clip_coefficient=factor, clip_norm=limit))
    assert "Clipping" not in finding.cause


def test_clipping_makes_it_a_warning():
    builder = norms(*CALM, clip_coefficient=1.0)
    for norm, loss in STORM:
        builder.step(grad_norm=norm, loss=loss, clip_coefficient=0.01)
    only(check(builder), "warning")


def test_names_the_largest_gradients_of_the_first_step():
    builder = RunBuilder()
    for text in "abcd":
        builder.tensor(text)
    for norm, loss in CALM + STORM:
        builder.step({"grad_l2": (1, norm, 2, 3)}, grad_norm=norm, loss=loss)
    (finding,) = check(builder)
    assert [place.name for place in finding.places] == ["gradients", "b", "d", "c"]


def test_the_median_agrees_with_a_loop():
    rng = np.random.default_rng(0)
    norm = rng.random(80)
    norm[[5, 20]] = np.nan
    found = median_before(norm)
    assert np.isnan(found[0])
    for step in range(1, 80):
        expected = np.nanmedian(norm[max(0, step - HISTORY) : step])
        assert found[step] == pytest.approx(expected)


@pytest.mark.parametrize(("has", "left_out"), [(0.0, True), (1.0, False)])
def test_is_left_out_where_no_gradient_arrived(has, left_out):
    builder = RunBuilder()
    builder.tensor("w")
    builder.step({"has_grad": has}, loss=1.0, grad_norm=None)
    report = report_by(ExplodingGradient(), builder.run)
    assert (report.not_checked == ()) is left_out
