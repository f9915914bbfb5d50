"""NUM006."""

import pytest

from ftlab.rules.numeric.gradients_off_scale import GradientsOffScale
from tests.runs import RunBuilder, only, report_by

UNSCALE, BY_STEP = (
    ("unscale", "optimizer 0", {}),
    ("unscale", "optimizer 0", {"by_step": 1}),
)
UPDATE, CLEAR = ("scaler_update", "scaler", {}), ("zero_grad", "optimizer 0", {})


def back(times=1):
    return ("backward", "loss", {} if times is None else {"scaled": times})


def step(optimizer=0, **detail):
    return ("step", f"optimizer {optimizer}", detail)


SCALER_STEP = step(scaler=True)


def report(*ops, steps=3, scale=1024.0):
    builder = RunBuilder().steps(steps, ops=ops, loss_scale=scale)
    return report_by(GradientsOffScale(), builder.run)


WRONG = {
    "stepped-past-scaler": (back(), back(), step()),
    "loss-not-scaled": (back(0), BY_STEP, SCALER_STEP, UPDATE),
    "scaled-in-part": (back(1), back(0), BY_STEP, SCALER_STEP, UPDATE),
    "scaled-twice": (back(2), BY_STEP, SCALER_STEP, UPDATE),
    "unscaled-too-early": (back(), UNSCALE, UPDATE, back(), BY_STEP, SCALER_STEP),
}


@pytest.mark.parametrize("reason", WRONG)
def test_finds_it_in_two_updates(reason):
    only(report(*WRONG[reason], steps=2).findings, reason=reason, steps=(0, 1))
    assert report(*WRONG[reason], steps=1).findings == ()


@pytest.mark.parametrize("reason", WRONG)
def test_a_scale_of_1_does_no_harm(reason):
    assert report(*WRONG[reason], scale=1.0).findings == ()


@pytest.mark.parametrize(
    "ops",
    [
        (back(), back(), UNSCALE, SCALER_STEP, UPDATE),
        (back(), BY_STEP, SCALER_STEP, UPDATE),
        (back(), UNSCALE, step()),  # unscaled by the scaler, stepped without it
        (back(), step(by_hand=True)),
        (back(None), BY_STEP, SCALER_STEP, UPDATE),  # multiplied by the user
        (back(0), step()),  # an optimizer that needs no scaler
        (back(), UNSCALE, CLEAR, back(), BY_STEP, SCALER_STEP, UPDATE),  # SAM
        (back(1), back(0), SCALER_STEP, step(1)),  # one optimizer each
        (back(), BY_STEP, SCALER_STEP, step(1, scaler=True), UPDATE),
    ],
)
def test_other_orders_are_fine(ops):
    assert report(*ops).findings == ()


def between(*before, growth=2.0, late=True, skipped=False, steps=3):
    """Two optimizers, and the scale updated before the second."""
    scale = ("scaler_update", "scaler", {"scale": 1024.0 * growth})
    second = step(1, scaler=True, rescaled=True) if late else step(1, scaler=True)
    if skipped:
        second = ("skip", "optimizer 1", {})
    ops = (back(), *before, BY_STEP, SCALER_STEP, scale, second, UPDATE)
    return report(*ops, steps=steps).findings


def test_finds_that_the_scale_was_updated_between_two_optimizers():
    finding = only(between(), "warning")
    assert "multiplied by 1.02e+03 were divided by 2.05e+03" in finding.message
    assert str(finding.places[0]) == "call scaler.update before scaler.step"
    assert finding.evidence["changed"] == finding.evidence["updates"] == 3
    assert between(steps=1) == ()


def test_an_unchanged_scale_is_noted_only():
    only(between(growth=1.0), "info")


def test_gradients_that_were_unscaled_before_the_update_are_unscaled_twice():
    finding = only(between(("unscale", "optimizer 1", {}), growth=1.0), "error")
    assert finding.evidence["reason"] == "unscaled-twice"


@pytest.mark.parametrize("settings", [{"late": False}, {"skipped": True}])
def test_a_scaler_of_its_own_and_a_skipped_update_are_fine(settings):
    assert between(**settings) == ()
