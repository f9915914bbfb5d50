"""NUM011."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.numeric.gradients_underflow import TABLE, GradientsUnderflow
from tests.runs import RunBuilder, places, report_by


def report(zero=0.6, coarse=0.9, *, norm=1e-6, points=2, other=(8, 8), **fields):
    """Make a run of two tensors, of which the first one has such gradients."""
    builder = RunBuilder()
    builder.tensor("w0", dtype="float32")
    builder.tensor("w1", dtype="float32", shape=other)
    for row in range(2):
        builder.run.append(NameRecord(row + 50, TABLE, f"w{row}", "param", ""))
    for step in range(points):
        builder.step({"grad_l2": norm}, **fields)
        ids = np.array([50, 51], np.int32)
        columns = {"zero": [zero, 0.0], "coarse": [coarse, 0.0]}
        values = {name: np.array(v, np.float32) for name, v in columns.items()}
        builder.run.append(Block(TABLE, step, ids, values))
    return report_by(GradientsUnderflow(), builder.run)


def test_finds_zeros_among_coarse_numbers():
    (finding,) = report().findings
    assert places(finding) == ["call GradScaler.scale", "param w0"]
    assert "60 % of the gradient of 1 tensor" in finding.message
    assert "without a scaler" in finding.message


@pytest.mark.parametrize(
    "given",
    [
        {"zero": 0.29},
        {"coarse": 0.29},  # a ReLU that is off, rows that no token used
        {"coarse": float("nan"), "zero": 1.0},
        {"norm": 1e-3},  # far above the floor: signs, or counts
        {"norm": 1e-6, "loss_scale": 65536.0},
        {"points": 1},
        {"other": (64, 64)},
    ],
)
def test_others_are_let_pass(given):
    assert report(**given).findings == ()


def test_a_scale_that_is_too_small_is_told():
    (finding,) = report(loss_scale=0.25).findings
    assert "at a scale of 0.25" in finding.message
