"""GRD012."""

import numpy as np
import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.gradient.clipped_one_by_one import ClippedOneByOne
from tests.runs import RunBuilder, healthy_lora

BACK, STEP = ("backward", "loss", {}), ("step", "optimizer 0", {})
NORMS = (8.0, 4.0, 1.0, 0.5, 0.25, 0.0)


def clip(limit=1.0, count=1, times=6, kind="norm"):
    detail = {"max_norm": limit, "count": count, "of": 6, "times": times}
    return ("clip", kind, detail)


def report(*clips, steps=4, norms=NORMS):
    builder = RunBuilder()
    for number in range(len(NORMS)):
        builder.tensor(f"layers.{number}.weight")
    for _ in range(steps):
        builder.step({"grad_l2": norms}, ops=(BACK, *clips, STEP))
    return Engine([ClippedOneByOne()]).check(builder.run)


def test_finds_tensors_that_are_clipped_by_themselves():
    (finding,) = report(clip()).findings
    assert str(finding.place) == "call clip_grad_norm_"
    assert [str(place) for place in finding.places[1:]] == ["param layers.0.weight"]
    before, after = np.array(NORMS), np.minimum(NORMS, 1.0)
    cosine = before @ after / np.linalg.norm(before) / np.linalg.norm(after)
    assert finding.evidence["cosine"] == pytest.approx(cosine)
    assert finding.evidence["norm"] == pytest.approx(np.linalg.norm(after))


@pytest.mark.parametrize(
    "clips",
    [
        (clip(count=6, times=1),),  # at once
        (clip(count=3, times=2),),  # two groups
        (clip(count=2, times=6),),  # many
        (clip(times=1), clip(count=5, times=1)),  # one delicate tensor
        (clip(times=2),),
        (clip(limit=100.0),),
        (clip(kind="value"),),
        (clip(limit=1.0, times=3), clip(limit=2.0, times=3)),  # limits of their own
        (),
    ],
)
def test_other_ways_to_clip_are_fine(clips):
    assert report(*clips).findings == ()


def test_alike_gradients_keep_their_direction():
    assert report(clip(), norms=(4.0,) * 6).findings == ()


def test_gradients_that_are_not_finite_are_left_to_others():
    assert report(clip(), norms=(np.nan, *NORMS[1:])).findings != ()
    assert report(clip(), norms=(np.inf, *NORMS[1:])).findings == ()


def test_two_updates_are_not_enough():
    assert report(clip(), steps=2).findings == ()


def test_runs_without_clipping_are_left_out_and_empty_ones_not_checked():
    found = Engine([ClippedOneByOne()]).check(healthy_lora().run)
    assert not found.findings
    assert not found.not_checked
    assert Engine([ClippedOneByOne()]).check(RunBuilder().run).not_checked
