"""NUM004."""

import numpy as np
import pytest

from ftlab.records.finding import Severity
from ftlab.rules.numeric.updates_skipped_by_scaler import UpdatesSkippedByScaler
from tests.runs import RunBuilder, found_by, only, places, report_by


def report(skips, *, scale=65536.0, loss=2.0, spoiled=(np.inf, 1.0)):
    """Make a run whose scaler halves at each skip, and grows as its skips say."""
    builder = RunBuilder()
    for name in ("model.layers.0.w", "model.layers.1.w"):
        builder.tensor(name)
    for skip in skips:
        columns = {"grad_max": spoiled if skip else 1.0}
        value = loss if skip else 2.0
        builder.step(columns, skipped=bool(skip), loss_scale=scale, loss=value)
        scale *= 0.5 if skip else 1.0
    return report_by(UpdatesSkippedByScaler(), builder.run)


@pytest.mark.parametrize("loss", [np.inf, np.nan])
def test_finds_a_loss_that_overflows_at_every_scale(loss):
    finding = only(report([1, 1, 1], loss=loss).findings, "error")
    assert finding.evidence["reason"] == "loss-overflows"
    assert "65536, 32768, 16384" in finding.message
    assert places(finding) == [
        "call GradScaler.update",
        "object loss",
        "param model.layers.0.w",
    ]


def test_two_infinite_losses_are_not_enough():
    assert report([0, 1, 1], loss=np.inf).findings == ()


def test_finds_gradients_that_overflow_at_a_scale_of_1():
    finding = only(report([1] * 17).findings, reason="gradients-overflow")
    assert "65536, 32768, ... 1" in finding.message
    assert "1 of 2 tensors" in finding.cause
    assert "layers.0.w" in finding.cause


def test_says_where_no_gradient_is_finite():
    (finding,) = report([1] * 17, spoiled=np.inf).findings
    assert "right below, the loss" in finding.cause


def test_a_search_that_is_still_above_1_is_let_pass():
    assert report([1] * 16).findings == ()
    assert report([1] * 16 + [0] * 30).findings == ()


def test_one_skipped_update_at_a_scale_of_1_is_let_pass():
    assert report([0, 1, 0], scale=1.0).findings == ()


@pytest.mark.parametrize(("period", "found"), [(2, 1), (5, 1), (6, 0), (11, 0)])
def test_finds_a_scale_that_is_grown_too_often(period, found):
    skips = [step % period == period - 1 for step in range(60)]
    findings = report(skips, scale=2.0**60).findings
    assert len(findings) == found
    assert all(each.severity is Severity.WARNING for each in findings)
    assert all(each.evidence["reason"] == "grown-too-often" for each in findings)


def test_skips_before_the_first_update_do_not_count_as_growing():
    assert report([1] * 12 + [0] * 6).findings == ()


def anew(scales, used, skips=None):
    """Make a run of which each step's scaler and scale are told."""
    builder = RunBuilder()
    skips = [1] * len(scales) if skips is None else skips
    for scale, count, skip in zip(scales, used, skips, strict=True):
        values = {"scaler": count}
        builder.step(skipped=bool(skip), loss_scale=scale, loss=2.0, values=values)
    return found_by(UpdatesSkippedByScaler(), builder.run)


def test_finds_a_new_scaler_in_each_step():
    finding = only(anew([1024] * 4, [1, 2, 3, 4]), "warning", reason="made-anew")
    assert str(finding.places[0]) == "call GradScaler"
    assert (finding.first_step, finding.last_step) == (0, 2)
    assert anew([1024] * 3, [1, 2, 3]) == ()


@pytest.mark.parametrize(
    ("scales", "used", "skips"),
    [
        ([1024, 512, 256, 128, 64], [1, 2, 3, 4, 5], None),  # the scale is handed on
        ([1024] * 8, [0, 1] * 4, None),  # one for each optimizer
        ([1024, 512] * 3, [1, 1, 2, 2, 3, 3], None),  # one for each epoch
        ([1024, 1024, 512] * 3, [0, 1, 0, 2, 3, 2, 4, 5, 4], None),  # two for each
        ([1024] * 8, range(1, 9), [0] * 8),  # a constant scale
    ],
)
def test_other_new_scalers_are_let_pass(scales, used, skips):
    assert anew(scales, used, skips) == ()
