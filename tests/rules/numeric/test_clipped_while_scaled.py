"""NUM005."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.engine import Engine
from ftlab.rules.numeric.clipped_while_scaled import ClippedWhileScaled
from tests.runs import RunBuilder, healthy_lora

BACK, STEP = ("backward", "loss", {"scaled": 1}), ("step", "optimizer 0", {})


def clip(kind="norm", **detail):
    usual = {"max_norm": 1.0, "total_norm": 5e4, "coefficient": 2e-5, "scaled": True}
    return ("clip", kind, usual | detail)


def report(*ops, scale=65536.0, steps=1, **fields):
    builder = RunBuilder()
    for _ in range(steps):
        builder.step(ops=ops, loss_scale=scale, **fields)
    return Engine([ClippedWhileScaled()]).check(builder.run)


def test_finds_the_first_clipping_of_scaled_gradients():
    (finding,) = report(BACK, clip(), STEP).findings
    assert finding.severity is Severity.ERROR
    assert str(finding.place) == "call clip_grad_norm_ before unscale_"
    assert "from 5e+04 (unscaled 0.763)" in finding.message
    assert "1.53e-05 is left" in finding.message


def test_finds_clipping_by_value():
    ops = BACK, ("clip", "value", {"max_norm": 0.1, "beyond": 0.9, "scaled": True})
    (finding,) = report(*ops, STEP).findings
    assert str(finding.place) == "call clip_grad_value_ before unscale_"


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
def test_other_clippings_are_fine(detail):
    assert report(BACK, clip(**detail), STEP).findings == ()


def test_a_large_limit_that_is_small_beside_the_scale_is_no_excuse():
    assert report(BACK, clip(max_norm=50.0), STEP, scale=1024.0).findings


def test_updates_that_were_skipped_and_a_scale_of_1_are_let_pass():
    skip = ("skip", "optimizer 0", {})
    assert report(BACK, clip(), skip, skipped=True).findings == ()
    assert report(BACK, clip(), STEP, scale=1.0).findings == ()


def test_runs_without_clipping_are_left_out_and_empty_ones_not_checked():
    found = Engine([ClippedWhileScaled()]).check(healthy_lora().run)
    assert not found.findings
    assert not found.not_checked
    assert Engine([ClippedWhileScaled()]).check(RunBuilder().run).not_checked
