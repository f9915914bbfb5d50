"""Rows of skipped updates, and how the scale went."""

import numpy as np

from ftlab.rules.reading.scaling_history import (
    Streak,
    scales_in_words,
    spoiled_at,
    streaks,
)
from tests.runs import RunBuilder


def build(*skips):
    builder = RunBuilder()
    builder.tensor("a")
    builder.tensor("b")
    for skip in skips:
        builder.step({"grad_max": [1.0, np.inf if skip else 1.0]}, skipped=bool(skip))
    return builder.run


def test_skips_in_a_row_belong_together():
    assert streaks(build(1, 1, 0, 1)) == [Streak(0, 2), Streak(3, 4)]
    assert streaks(build(0)) == []
    assert len(Streak(2, 5)) == 3


def test_small_scales_are_told_as_they_are():
    assert scales_in_words(np.array([2.0, 1.0, 0.5, 0.25])) == "2, 1, ... 0.25"


def test_tensors_with_a_gradient_that_is_not_finite_are_named():
    spoiled, count = spoiled_at(build(0, 1), 1)
    assert [name.name for name in spoiled] == ["b"]
    assert count == 2
    assert spoiled_at(build(0, 1), 0)[0] == []
    assert spoiled_at(RunBuilder().run, 0) == ([], 0)
