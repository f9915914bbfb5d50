"""GRD015."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.engine import Engine
from ftlab.rules.gradient.limit_out_of_scale import LimitOutOfScale
from tests.runs import RunBuilder, healthy_lora

BACK, STEP = ("backward", "loss", {}), ("step", "optimizer 0", {})


def clip(limit=1.0, kind="norm", **detail):
    return ("clip", kind, {"max_norm": limit, "count": 4, "of": 4} | detail)


def report(*clips, steps=4, norm=5.0, kind="SGD"):
    builder = RunBuilder()
    builder.facts(optimizers=({"class": kind},))
    for _ in range(steps):
        builder.step(ops=(BACK, *clips, STEP), grad_norm=norm)
    return Engine([LimitOutOfScale()]).check(builder.run)


@pytest.mark.parametrize(
    ("limit", "kind", "reason"),
    [
        (0.0, "norm", "zero"),
        (-1.0, "norm", "negative"),
        (0.0, "value", "zero"),
        (-0.1, "value", "negative"),
    ],
)
def test_finds_limits_that_are_none(limit, kind, reason):
    (finding,) = report(clip(limit, kind)).findings
    assert finding.severity is Severity.ERROR
    assert finding.evidence["reason"] == reason
    assert str(finding.place) == f"call clip_grad_{kind}_"


def test_finds_that_signs_are_all_that_is_left():
    (finding,) = report(clip(1e-9, "value", beyond=0.95)).findings
    assert finding.severity is Severity.WARNING
    assert (finding.evidence["reason"], finding.evidence["value"]) == ("signs", 0.95)


@pytest.mark.parametrize(("kind", "word"), [("SGD", "Under SGD"), ("AdamW", "forgets")])
def test_a_limit_far_below_the_norm_is_information(kind, word):
    (finding,) = report(clip(coefficient=0.005), steps=20, kind=kind).findings
    assert finding.severity is Severity.INFO
    assert finding.evidence["reason"] == "small"
    assert word in finding.cause


@pytest.mark.parametrize(
    "clips",
    [
        (clip(0.0, count=1),),  # one tensor is frozen so
        (clip(1.0, "value", beyond=0.5),),
        (clip(1e-9, "value", beyond=1.0, count=1),),
        (clip(coefficient=0.2),),
        (clip(coefficient=0.001, scaled=True),),
        (clip(float("inf")),),
        (),
    ],
)
def test_other_limits_are_fine(clips):
    assert report(*clips, steps=30).findings == ()


def test_a_step_without_gradients_proves_nothing():
    assert report(clip(0.0), norm=0.0).findings == ()


def test_looks_count_and_not_the_steps_between_them():
    builder = RunBuilder()
    for number in range(5):
        look = {"beyond": 1.0} if number % 2 == 0 else {}
        builder.step(ops=(BACK, clip(1e-9, "value", **look), STEP), grad_norm=1.0)
    found = Engine([LimitOutOfScale()]).check(builder.run).findings
    assert [each.evidence["updates"] for each in found] == [3]


def test_two_updates_are_not_enough():
    assert report(clip(0.0), steps=2).findings == ()
    assert report(clip(1e-9, "value", beyond=1.0), steps=2).findings == ()
    assert report(clip(coefficient=0.005), steps=19).findings == ()


def test_runs_without_clipping_are_left_out_and_empty_ones_not_checked():
    found = Engine([LimitOutOfScale()]).check(healthy_lora().run)
    assert not found.findings
    assert not found.not_checked
    assert Engine([LimitOutOfScale()]).check(RunBuilder().run).not_checked
