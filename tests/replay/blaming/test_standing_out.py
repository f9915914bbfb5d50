"""Samples and spans are ordered by their losses."""

import math

import numpy as np

from ftlab.replay.blaming.standing_out import outstanding, ranked

NAN, INF = math.nan, math.inf


def test_the_highest_mean_comes_first_and_ties_by_number() -> None:
    losses = np.array([[1.0, 1.0], [3.0, 1.0], [1.0, 1.0]])
    targets = np.ones((3, 2), dtype=np.int64)
    found = ranked(losses, targets, np.zeros(3), decode=None)
    assert [each.sample for each in found] == [1, 0, 2]


def test_a_span_bridges_a_gap_but_not_ordinary_tokens() -> None:
    assert outstanding([1, 8, 4, 9, 1], usual=1.0) == (1, 4)
    assert outstanding([1, 8, -INF, 9, 1], usual=1.0) == (1, 4)
    assert outstanding([8, 1, 1, 1, 9], usual=1.0) == (4, 5)


def test_values_that_are_not_finite_are_the_span() -> None:
    assert outstanding([9, NAN, INF, 9], usual=1.0) == (1, 3)


def test_a_sample_of_nan_comes_before_all_others() -> None:
    losses = np.array([[5.0, 5.0], [1.0, NAN], [INF, 1.0]])
    targets = np.ones((3, 2), dtype=np.int64)
    found = ranked(losses, targets, np.full(3, NAN), decode=None)
    assert [each.sample for each in found] == [1, 2, 0]
    assert math.isnan(found[0].span_loss)


def test_text_is_that_of_the_predicted_tokens() -> None:
    losses = np.array([[NAN, 1.0, 9.0, NAN, 9.0, 1.0, 1.0]])
    targets = np.array([[-1, 4, 5, -1, 6, 7, 8]])
    (found,) = ranked(losses, targets, np.zeros(1), decode=str)
    assert (found.start, found.stop, found.tokens) == (2, 5, 5)
    assert found.text == "[5, 6]"
    assert found.span_loss == 9.0


def test_a_sample_without_labels_is_left_out() -> None:
    losses, targets = np.array([[NAN], [1.0]]), np.array([[-1], [3]])
    found = ranked(losses, targets, np.zeros(2), decode=None)
    assert [each.sample for each in found] == [1]
