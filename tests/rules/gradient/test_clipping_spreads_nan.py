"""GRD016."""

import numpy as np
import pytest

from ftlab.rules.gradient.clipping_spreads_nan import ClippingSpreadsNan
from tests.runs import RunBuilder, report_by

BACK, STEP = ("backward", "loss", {}), ("step", "optimizer 0", {})
SKIP = ("skip", "optimizer 0", {})
NAN, INF = float("nan"), float("inf")


def clip(norm=NAN, kind="norm"):
    return ("clip", kind, {"max_norm": 1.0, "count": 3, "of": 3, "total_norm": norm})


def report(*ops, largest=(1.0, NAN, 2.0), has=1.0, **columns):
    builder = RunBuilder()
    for number in range(3):
        builder.tensor(f"layers.{number}.weight")
    sound = {"grad_max": 1.0, "has_grad": 1.0}
    builder.step(sound, ops=(BACK, clip(3.0), STEP))
    builder.step({"grad_max": largest, "has_grad": has} | columns, ops=ops)
    builder.step({"grad_max": NAN, "has_grad": 1.0}, ops=(BACK, clip(), STEP))
    return report_by(ClippingSpreadsNan(), builder.run)


@pytest.mark.parametrize("value", [NAN, INF])
def test_names_the_tensor_that_was_broken_before_clipping(value):
    largest = (1.0, value, 2.0)
    (finding,) = report(BACK, clip(value), STEP, largest=largest).findings
    assert str(finding.place) == "param layers.1.weight"
    assert finding.first_step == 1
    assert finding.evidence["broken_before"] == 1
    assert finding.evidence["sound_before"] == 2


def test_tensors_without_a_gradient_are_neither_sound_nor_broken():
    largest, has = (NAN, NAN, 2.0), (0.0, 1.0, 1.0)
    (finding,) = report(BACK, clip(), STEP, largest=largest, has=has).findings
    assert [str(place) for place in finding.places[:-1]] == ["param layers.1.weight"]


@pytest.mark.parametrize(
    ("ops", "columns"),
    [
        ((BACK, clip(kind="value"), STEP), {}),
        ((BACK, clip(), SKIP), {}),
        ((BACK, clip()), {}),  # the loop leaves the step out
        ((BACK, clip(), STEP), {"largest": (NAN, NAN, NAN)}),
        ((BACK, clip(), STEP), {"grad_l2_after": 0.5}),  # mended by hand
        ((BACK, clip(3.0), STEP), {"largest": (1.0, 1.0, 1.0)}),
    ],
)
def test_nothing_is_said_where_clipping_did_no_harm(ops, columns):
    assert report(*ops, **columns).findings == ()


def test_gradients_that_were_changed_and_stayed_broken_count():
    after = np.array([NAN, NAN, 1.0])
    assert report(BACK, clip(), STEP, grad_l2_after=after).findings
