"""GRD013."""

import numpy as np
import pytest

from ftlab.records.finding import Severity
from ftlab.rules.gradient.gradients_not_clipped_together import (
    GradientsNotClippedTogether,
)
from tests.runs import RunBuilder, only, report_by

BACK, STEP = ("backward", "loss", {}), ("step", "optimizer 0", {})
NORMS = (0.5, 0.5, 3.0, 4.0)
SPREAD = (8.0, 4.0, 1.0, 0.5, 0.25, 0.0)


def clip(count=2, limit=1.0, **detail):
    return ("clip", "norm", {"max_norm": limit, "count": count, "of": 4} | detail)


def part(groups=(True, False), left=(2, 3), **detail):
    out = {"left_out": list(left), "left_out_count": len(left), "groups": list(groups)}
    return clip(**(out | detail))


def report(*ops, steps=4, optimizers=1, norms=NORMS):
    builder = RunBuilder()
    for number in range(len(norms)):
        builder.tensor(f"layers.{number}.weight")
    builder.facts(optimizers=({"class": "SGD"},) * optimizers)
    for _ in range(steps):
        norm = float(np.linalg.norm(np.nan_to_num(norms)))
        builder.step({"grad_l2": norms}, ops=(BACK, *ops, STEP), grad_norm=norm)
    return report_by(GradientsNotClippedTogether(), builder.run)


@pytest.mark.parametrize(("given", "word"), [(0, "generator"), (4, "copies")])
def test_finds_clipping_of_what_has_no_gradient(given, word):
    finding = only(report(clip(count=0, given=given)).findings, "warning")
    assert finding.evidence["reason"] == "nothing"
    assert word in finding.cause


def test_finds_that_the_first_group_alone_is_clipped():
    finding = only(report(part()).findings, "warning", reason="first-group", norm=5.0)
    names = [str(place) for place in finding.places[1:]]
    assert names == ["param layers.2.weight", "param layers.3.weight"]


@pytest.mark.parametrize(
    ("groups", "optimizers"), [((False,), 1), ((True, False), 2), ((False, True), 1)]
)
def test_another_part_is_information(groups, optimizers):
    only(report(part(groups), optimizers=optimizers).findings, "info", reason="part")


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
    return report_by(GradientsNotClippedTogether(), builder.run)


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
    only(now_and_then(*[(least(), True)] * 7).findings, "info")
    rare = [(least(), True), (least(), False), (least(), False)]
    assert now_and_then(*rare * 10).findings == ()


def each(limit=1.0, count=1, times=6, kind="norm"):
    detail = {"max_norm": limit, "count": count, "of": 6, "times": times}
    return ("clip", kind, detail)


def test_finds_tensors_that_are_clipped_by_themselves():
    finding = only(report(each(), norms=SPREAD).findings, place="call clip_grad_norm_")
    assert finding.evidence["reason"] == "one-by-one"
    assert [str(place) for place in finding.places[1:]] == ["param layers.0.weight"]
    before, after = np.array(SPREAD), np.minimum(SPREAD, 1.0)
    cosine = before @ after / np.linalg.norm(before) / np.linalg.norm(after)
    assert finding.evidence["cosine"] == pytest.approx(cosine)
    assert finding.evidence["norm"] == pytest.approx(np.linalg.norm(after))


def test_gradients_that_are_not_finite_are_left_to_others():
    assert report(each(), norms=(np.nan, *SPREAD[1:])).findings != ()
    assert report(each(), norms=(np.inf, *SPREAD[1:])).findings == ()


@pytest.mark.parametrize(
    "clips",
    [
        (each(count=6, times=1),),  # at once
        (each(count=3, times=2),),  # two groups
        (each(count=2, times=6),),  # many
        (each(times=1), each(count=5, times=1)),  # one delicate tensor
        (each(times=2),),
        (each(limit=100.0),),
        (each(kind="value"),),
        (each(limit=1.0, times=3), each(limit=2.0, times=3)),  # limits of their own
        (),
    ],
)
def test_a_few_groups_or_tensors_may_have_limits_of_their_own(clips):
    assert report(*clips, norms=SPREAD).findings == ()


def test_alike_gradients_keep_their_direction():
    assert report(each(), norms=(4.0,) * 6).findings == ()


def whole(limit, kind="norm", **detail):
    counts = {"count": 4, "of": 4, "norm_type": 2.0}
    return ("clip", kind, {"max_norm": limit} | counts | detail)


@pytest.mark.parametrize("limits", [(1.0, 0.5), (0.5, 1.0)])
def test_finds_two_limits_that_both_bite(limits):
    finding = only(report(*map(whole, limits)).findings, place="call clip_grad_norm_")
    assert finding.evidence["reason"] == "two-limits"
    assert (finding.evidence["smaller"], finding.evidence["larger"]) == (0.5, 1.0)


@pytest.mark.parametrize(
    "clips",
    [
        (whole(1.0),),
        (whole(1.0), whole(1.0)),
        (whole(1.0), whole(1e9)),  # never reached
        (whole(float("inf")), whole(1.0)),
        (whole(0.5, count=2), whole(1.0)),  # a part, then all
        (whole(0.5, "value"), whole(1.0)),
        (whole(1.0, norm_type=1.0), whole(0.5)),
        (whole(1.0, scaled=True), whole(0.5)),
    ],
)
def test_a_second_clipping_that_changes_nothing_or_is_another_kind_is_fine(clips):
    assert report(*clips).findings == ()


def test_gradients_below_both_limits_prove_nothing():
    quiet = (0.3, 0.3, 0.3, 0.3)
    assert report(whole(1.0), whole(0.7), norms=quiet).findings == ()


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
    assert report(each(), norms=SPREAD, steps=2).findings == ()
    assert report(whole(1.0), whole(0.5), steps=2).findings == ()
