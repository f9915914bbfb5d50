"""GRD011."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.engine import Engine
from ftlab.rules.gradient.clipped_after_step import ClippedAfterStep
from tests.runs import RunBuilder, healthy_lora

FORWARD = ("forward", "model", {"mode": "train", "grad_enabled": True})
BACK, STEP = ("backward", "loss", {}), ("step", "optimizer 0", {})
OTHER, CLEAR = ("step", "optimizer 1", {}), ("zero_grad", "optimizer 0", {})


def clip(limit=1.0, kind="norm", **detail):
    return ("clip", kind, {"max_norm": limit, "count": 4, "of": 4} | detail)


def report(*ops, steps=4, norm=5.0):
    builder = RunBuilder()
    for _ in range(steps):
        builder.step(ops=ops, grad_norm=norm)
    return Engine([ClippedAfterStep()]).check(builder.run)


def test_finds_clipping_after_the_step():
    (finding,) = report(FORWARD, BACK, STEP, clip(), CLEAR).findings
    assert str(finding.place) == "call clip_grad_norm_ after optimizer.step"
    assert finding.severity is Severity.ERROR
    assert finding.evidence["reason"] == "after-step"
    assert (finding.evidence["limit"], finding.evidence["norm"]) == (1.0, 5.0)


def test_finds_clipping_before_backward():
    (finding,) = report(clip(0.5, "value"), FORWARD, BACK, STEP).findings
    assert str(finding.place) == "call clip_grad_value_ before loss.backward"
    assert finding.evidence["reason"] == "before-backward"


def test_a_limit_that_was_not_reached_is_information():
    (finding,) = report(FORWARD, BACK, STEP, clip(10.0)).findings
    assert finding.severity is Severity.INFO


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
    ],
)
def test_other_orders_are_fine(ops):
    assert report(*ops).findings == ()


def test_two_updates_are_not_enough():
    assert report(FORWARD, BACK, STEP, clip(), steps=2).findings == ()


def test_runs_without_clipping_are_left_out_and_empty_ones_not_checked():
    found = Engine([ClippedAfterStep()]).check(healthy_lora().run)
    assert not found.findings
    assert not found.not_checked
    assert Engine([ClippedAfterStep()]).check(RunBuilder().run).not_checked
