"""GRD015."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.gradient.limit_out_of_scale import LimitOutOfScale
from tests.runs import RunBuilder, found_by, only, report_by

BACK, STEP = ("backward", "loss", {}), ("step", "optimizer 0", {})


def clip(limit=1.0, kind="norm", **detail):
    return ("clip", kind, {"max_norm": limit, "count": 4, "of": 4} | detail)


def report(*clips, steps=4, norm=5.0, kind="SGD"):
    builder = RunBuilder()
    builder.facts(optimizers=({"class": kind},))
    builder.steps(steps, ops=(BACK, *clips, STEP), grad_norm=norm)
    return report_by(LimitOutOfScale(), builder.run)


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
    finding = only(report(clip(limit, kind)).findings, "error", reason=reason)
    assert str(finding.place) == f"call clip_grad_{kind}_"


def test_finds_that_signs_are_all_that_is_left():
    finding = only(report(clip(1e-9, "value", beyond=0.95)).findings, "warning")
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


def flat(beyond=0.6, kept=0.05, **detail):
    return clip(1e-3, "value", beyond=beyond, kept=kept, **detail)


def swapped(coefficient=0.05, limit=2.0, norm_type=1.0, **detail):
    return clip(limit, coefficient=coefficient, norm_type=norm_type, **detail)


@pytest.mark.parametrize(
    ("call", "reason", "value"),
    [(flat(), "flattened", 0.05), (swapped(), "swapped", 0.05)],
)
def test_finds_limits_that_were_meant_for_another_norm(call, reason, value):
    finding = only(report(call, steps=8).findings, "warning")
    assert (finding.evidence["reason"], finding.evidence["value"]) == (reason, value)
    assert report(call, steps=7).findings == ()


@pytest.mark.parametrize(
    "clips",
    [
        (flat(beyond=0.2),),  # a few large ones are cut
        (flat(kept=0.2),),
        (flat(count=1),),
        (flat(scaled=True),),
        (flat(), flat()),
        (swapped(coefficient=0.2),),
        (swapped(limit=1.0),),
        (swapped(norm_type=2.0),),
        (swapped(norm_type=float("inf")),),
        (swapped(norm_type=0.0),),
        (swapped(count=1),),
    ],
)
def test_limits_that_may_be_meant_are_no_warnings(clips):
    assert report(*clips, steps=19).findings == ()


def test_one_update_that_is_left_alone_shows_that_the_limit_is_in_scale():
    builder = RunBuilder()
    for number in range(12):
        builder.step(ops=(BACK, swapped(1.0 if number == 5 else 0.05), STEP))
    assert found_by(LimitOutOfScale(), builder.run) == ()


def under(*optimizers, limit=1e-10, steps=3, **detail):
    builder = RunBuilder()
    kinds = [{"class": kind, "groups": [{"eps": eps}]} for kind, eps in optimizers]
    builder.facts(optimizers=tuple(kinds))
    for _ in range(steps):
        call = clip(limit, coefficient=1e-9, **detail)
        builder.step(ops=(BACK, call, STEP), grad_norm=1.0)
    return found_by(LimitOutOfScale(), builder.run)


ADAM = ("AdamW", 1e-8)


@pytest.mark.parametrize("limit", [1e-10, 1e-9])
def test_finds_limits_below_the_epsilon_of_adam(limit):
    finding = only(under(ADAM, ("PagedAdamW8bit", 1e-8), limit=limit), "error")
    assert finding.evidence["reason"] == "below-epsilon"


@pytest.mark.parametrize(
    ("optimizers", "settings"),
    [
        ((ADAM,), {"limit": 1e-8}),
        ((ADAM,), {"steps": 2}),
        ((ADAM,), {"scaled": True}),
        ((("AdamW", 1e-3),), {}),  # a large epsilon is meant
        ((("AdamW", None),), {}),
        ((("SGD", None),), {}),
        ((("LAMB", 1e-8),), {}),
        ((ADAM, ("SGD", None)), {}),
        ((), {}),
    ],
)
def test_an_epsilon_that_does_not_count_hides_nothing(optimizers, settings):
    assert under(*optimizers, **settings) == ()


def test_a_step_without_gradients_proves_nothing():
    assert report(clip(0.0), norm=0.0).findings == ()


def test_looks_count_and_not_the_steps_between_them():
    builder = RunBuilder()
    for number in range(5):
        look = {"beyond": 1.0} if number % 2 == 0 else {}
        builder.step(ops=(BACK, clip(1e-9, "value", **look), STEP), grad_norm=1.0)
    found = found_by(LimitOutOfScale(), builder.run)
    assert [each.evidence["updates"] for each in found] == [3]


def test_two_updates_are_not_enough():
    assert report(clip(0.0), steps=2).findings == ()
    assert report(clip(1e-9, "value", beyond=1.0), steps=2).findings == ()
    assert report(clip(coefficient=0.005), steps=19).findings == ()
