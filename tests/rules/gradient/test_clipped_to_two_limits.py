"""GRD014."""

import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.gradient.clipped_to_two_limits import ClippedToTwoLimits
from tests.runs import RunBuilder, healthy_lora

BACK, STEP = ("backward", "loss", {}), ("step", "optimizer 0", {})


def clip(limit, kind="norm", **detail):
    counts = {"count": 4, "of": 4, "norm_type": 2.0}
    return ("clip", kind, {"max_norm": limit} | counts | detail)


def report(*clips, steps=4, norm=5.0):
    builder = RunBuilder()
    for _ in range(steps):
        builder.step(ops=(BACK, *clips, STEP), grad_norm=norm)
    return Engine([ClippedToTwoLimits()]).check(builder.run)


@pytest.mark.parametrize("limits", [(1.0, 0.5), (0.5, 1.0)])
def test_finds_two_limits_that_both_bite(limits):
    (finding,) = report(*map(clip, limits)).findings
    assert str(finding.place) == "call clip_grad_norm_"
    assert (finding.evidence["smaller"], finding.evidence["larger"]) == (0.5, 1.0)


@pytest.mark.parametrize(
    "clips",
    [
        (clip(1.0),),
        (clip(1.0), clip(1.0)),
        (clip(1.0), clip(1e9)),  # never reached
        (clip(float("inf")), clip(1.0)),
        (clip(0.5, count=2), clip(1.0)),  # a part, then all
        (clip(0.5, "value"), clip(1.0)),
        (clip(1.0, norm_type=1.0), clip(0.5)),
        (clip(1.0, scaled=True), clip(0.5)),
    ],
)
def test_other_ways_to_clip_are_fine(clips):
    assert report(*clips).findings == ()


def test_gradients_below_both_limits_prove_nothing():
    assert report(clip(1.0), clip(0.5), norm=0.7).findings == ()


def test_two_updates_are_not_enough():
    assert report(clip(1.0), clip(0.5), steps=2).findings == ()


def test_runs_without_clipping_are_left_out_and_empty_ones_not_checked():
    found = Engine([ClippedToTwoLimits()]).check(healthy_lora().run)
    assert not found.findings
    assert not found.not_checked
    assert Engine([ClippedToTwoLimits()]).check(RunBuilder().run).not_checked
