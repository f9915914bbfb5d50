"""GRD013."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.engine import Engine
from ftlab.rules.gradient.clipping_misses_gradients import ClippingMissesGradients
from tests.runs import RunBuilder, healthy_lora

BACK, STEP = ("backward", "loss", {}), ("step", "optimizer 0", {})
NORMS = (0.5, 0.5, 3.0, 4.0)


def clip(count=2, limit=1.0, **detail):
    return ("clip", "norm", {"max_norm": limit, "count": count, "of": 4} | detail)


def part(groups=(True, False), left=(2, 3), **detail):
    out = {"left_out": list(left), "left_out_count": len(left), "groups": list(groups)}
    return clip(**(out | detail))


def report(*ops, steps=4, optimizers=1, norms=NORMS):
    builder = RunBuilder()
    for number in range(4):
        builder.tensor(f"layers.{number}.weight")
    builder.facts(optimizers=({"class": "SGD"},) * optimizers)
    for _ in range(steps):
        builder.step({"grad_l2": norms}, ops=(BACK, *ops, STEP))
    return Engine([ClippingMissesGradients()]).check(builder.run)


@pytest.mark.parametrize(("given", "word"), [(0, "generator"), (4, "copies")])
def test_finds_clipping_of_what_has_no_gradient(given, word):
    (finding,) = report(clip(count=0, given=given)).findings
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "nothing"
    assert word in finding.cause


def test_finds_that_the_first_group_alone_is_clipped():
    (finding,) = report(part()).findings
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "first-group"
    assert finding.evidence["norm"] == 5.0
    names = [str(place) for place in finding.places[1:]]
    assert names == ["param layers.2.weight", "param layers.3.weight"]


@pytest.mark.parametrize(
    ("groups", "optimizers"), [((False,), 1), ((True, False), 2), ((False, True), 1)]
)
def test_another_part_is_information(groups, optimizers):
    (finding,) = report(part(groups), optimizers=optimizers).findings
    assert finding.severity is Severity.INFO
    assert finding.evidence["reason"] == "part"


def least(groups=(False,), left=(1, 2, 3), coefficient=0.1, **detail):
    return part(groups, left, count=1, coefficient=coefficient, **detail)


def now_and_then(*parts):
    """Make updates in which what is left out exceeds the limit of 1, or does not."""
    builder = RunBuilder()
    for number in range(4):
        builder.tensor(f"layers.{number}.weight")
    builder.facts(optimizers=({"class": "SGD"},))
    for call, above in parts:
        norms = NORMS if above else (0.1,) * 4
        builder.step({"grad_l2": norms}, ops=(BACK, call, STEP))
    return Engine([ClippingMissesGradients()]).check(builder.run)


def test_finds_that_a_small_part_is_all_that_is_clipped():
    (finding,) = now_and_then(*[(least(), True), (least(), False)] * 8).findings
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "most"
    assert (finding.first_step, finding.last_step) == (0, 14)


@pytest.mark.parametrize(
    "call",
    [
        least((True, False)),  # the first group
        least((False, True)),
        least(left=(2, 3)),  # half
        least(coefficient=1.0),
        least(limit=6.0),
    ],
)
def test_what_may_be_meant_or_does_no_harm_is_not_such_a_part(call):
    found = now_and_then(*[(call, True)] * 10).findings
    assert all(each.evidence["reason"] != "most" for each in found)


def test_a_small_part_needs_eight_updates_and_half_of_all():
    (found,) = now_and_then(*[(least(), True)] * 7).findings
    assert found.severity is Severity.INFO
    rare = [(least(), True), (least(), False), (least(), False)]
    assert now_and_then(*rare * 10).findings == ()


@pytest.mark.parametrize(
    "ops",
    [
        (clip(count=4),),
        (clip(count=0, given=0), clip(count=4)),
        (part(limit=6.0),),
        (part(times=2),),
        (clip(), part()),  # of several calls nothing is said
    ],
)
def test_other_ways_to_clip_are_fine(ops):
    assert report(*ops).findings == ()


def test_what_was_left_out_and_has_no_gradient_does_not_count():
    nothing = (0.5, 0.5, float("nan"), float("nan"))
    assert report(part(), norms=nothing).findings == ()


def test_two_updates_are_not_enough():
    assert report(part(), steps=2).findings == ()
    assert report(clip(count=0, given=0), steps=2).findings == ()


def test_runs_without_clipping_are_left_out_and_empty_ones_not_checked():
    found = Engine([ClippingMissesGradients()]).check(healthy_lora().run)
    assert not found.findings
    assert not found.not_checked
    assert Engine([ClippingMissesGradients()]).check(RunBuilder().run).not_checked
