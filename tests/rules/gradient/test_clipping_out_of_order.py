"""GRD011."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.gradient.clipping_out_of_order import ClippingOutOfOrder
from tests.runs import RunBuilder, only, report_by

FORWARD = ("forward", "model", {"mode": "train", "grad_enabled": True})
BACK, STEP = ("backward", "loss", {}), ("step", "optimizer 0", {})
OTHER, CLEAR = ("step", "optimizer 1", {}), ("zero_grad", "optimizer 0", {})
MICRO = (FORWARD, BACK)
SCALED = ("backward", "loss", {"scaled": 1})


def clip(limit=1.0, kind="norm", **detail):
    return ("clip", kind, {"max_norm": limit, "count": 4, "of": 4} | detail)


def shrinking(factor=0.5, kind="norm"):
    return ("clip", kind, {"coefficient": factor})


def scaled(kind="norm", **detail):
    usual = {"max_norm": 1.0, "total_norm": 5e4, "coefficient": 2e-5, "scaled": True}
    return ("clip", kind, usual | detail)


def report(*ops, steps=4, **fields):
    builder = RunBuilder().steps(steps, ops=ops, **({"grad_norm": 5.0} | fields))
    return report_by(ClippingOutOfOrder(), builder.run)


def test_finds_clipping_after_the_step():
    finding = only(report(FORWARD, BACK, STEP, clip(), CLEAR).findings, "error")
    assert str(finding.place) == "call clip_grad_norm_ after optimizer.step"
    assert finding.evidence["reason"] == "after-step"
    assert (finding.evidence["limit"], finding.evidence["norm"]) == (1.0, 5.0)


def test_finds_clipping_before_backward():
    (finding,) = report(clip(0.5, "value"), FORWARD, BACK, STEP).findings
    assert str(finding.place) == "call clip_grad_value_ before loss.backward"
    assert finding.evidence["reason"] == "before-backward"


def test_a_limit_that_was_not_reached_is_information():
    only(report(FORWARD, BACK, STEP, clip(10.0)).findings, "info")


def test_finds_clipping_between_the_backwards_of_an_update():
    ops = *MICRO, shrinking(0.2), *MICRO, shrinking(), STEP, CLEAR
    finding = only(report(*ops).findings, place="call torch.nn.utils.clip_grad_norm_")
    assert finding.evidence["reason"] == "between-backwards"
    assert finding.evidence["early_clips"] == 1
    assert finding.evidence["factor"] == 0.2


def test_finds_the_first_clipping_of_scaled_gradients():
    (finding,) = report(SCALED, scaled(), STEP, steps=1, loss_scale=65536.0).findings
    assert finding.severity is Severity.ERROR
    assert str(finding.place) == "call clip_grad_norm_ before unscale_"
    assert "from 5e+04 (unscaled 0.763)" in finding.message
    assert "1.53e-05 is left" in finding.message


def test_finds_clipping_of_scaled_gradients_by_value():
    clipped = ("clip", "value", {"max_norm": 0.1, "beyond": 0.9, "scaled": True})
    (finding,) = report(SCALED, clipped, STEP, steps=1, loss_scale=65536.0).findings
    assert str(finding.place) == "call clip_grad_value_ before unscale_"


@pytest.mark.parametrize(
    "ops",
    [
        (FORWARD, BACK, clip(), STEP),
        (FORWARD, BACK, clip(), STEP, clip()),  # the second is read for a log
        (FORWARD, BACK, STEP, clip(float("inf"))),
        (FORWARD, BACK, STEP, clip(count=0)),  # GRD013
        (FORWARD, BACK, clip(), STEP, clip(), OTHER),
        (FORWARD, BACK, STEP),
        (STEP, clip()),  # of a backward within the step nothing is known
        (FORWARD, BACK, ("skip", "optimizer 0", {}), clip()),
        (*MICRO, *MICRO, shrinking(), STEP),  # once, as it should be
        (*MICRO, shrinking(), shrinking(), STEP),  # group by group
        (*MICRO, shrinking(), *MICRO, STEP),  # one loss of two
        (*MICRO, shrinking(), BACK, shrinking(), STEP),  # two losses of one forward
        (*MICRO, shrinking(), CLEAR, *MICRO, shrinking(), STEP),
        (*MICRO, shrinking(1.0), *MICRO, shrinking(), STEP),  # nothing was shrunk
        (*MICRO, shrinking(kind="value"), *MICRO, shrinking(kind="value"), STEP),
    ],
)
def test_other_orders_are_fine(ops):
    assert report(*ops).findings == ()


@pytest.mark.parametrize(
    "detail",
    [
        {"scaled": False},
        {"coefficient": 1.0},  # the norm is only read
        {"max_norm": 65536.0},  # in units of the scale
        {"max_norm": 655.0},
        {"total_norm": float("inf"), "coefficient": 0.0},  # about to be skipped
        {"total_norm": float("nan")},
    ],
)
def test_other_clippings_of_scaled_gradients_are_fine(detail):
    found = report(SCALED, scaled(**detail), STEP, steps=1, loss_scale=65536.0)
    assert found.findings == ()


def test_a_large_limit_that_is_small_beside_the_scale_is_no_excuse():
    ops = SCALED, scaled(max_norm=50.0), STEP
    assert report(*ops, steps=1, loss_scale=1024.0).findings


def test_updates_that_were_skipped_and_a_scale_of_1_are_let_pass():
    skip = ("skip", "optimizer 0", {})
    assert report(SCALED, scaled(), skip, skipped=True, loss_scale=2.0).findings == ()
    assert report(SCALED, scaled(), STEP, loss_scale=1.0).findings == ()


@pytest.mark.parametrize(
    "ops",
    [(FORWARD, BACK, STEP, clip()), (*MICRO, shrinking(), *MICRO, shrinking(), STEP)],
)
def test_two_updates_are_not_enough(ops):
    assert report(*ops, steps=2).findings == ()
