"""When a base weight holds an adapter's delta."""

import pytest

from ftlab.rules.reading.base_weights import (
    NEAR,
    SHARP,
    in_between,
    merged_already,
    too_small,
)


def start(slopes, sigma=0.01):
    modules = [f"layers.{index}" for index in range(len(slopes))]
    sigmas = sigma if isinstance(sigma, list) else [sigma] * len(slopes)
    row = {"modules": modules, "slope": list(slopes), "sigma": sigmas}
    return {"delta_in_base": {"default": row}}


def found(slopes, sigma=0.01):
    return list(merged_already(start(slopes, sigma)))


def test_slopes_of_one_are_a_merged_delta():
    (each,) = found([0.98, 1.01, 1.0])
    assert (each.adapter, each.measured) == ("default", 3)
    assert each.modules == ("layers.0", "layers.1", "layers.2")
    assert each.slope == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("slopes", [[0.0, 0.05], [-1.0] * 4, [0.5] * 8, [2.0] * 8, []])
def test_others_are_not(slopes):
    assert found(slopes) == []


@pytest.mark.parametrize(("slope", "count"), [(1 - NEAR + 0.01, 1), (0.8, 0)])
def test_two_layers_must_be_near_one(slope, count):
    assert len(found([slope, slope])) == count


@pytest.mark.parametrize(("sigma", "count"), [(0.08, 0), (0.09, 1)])
def test_what_is_blurred_may_lie_two_deviations_away(sigma, count):
    assert len(found([0.83, 0.83], sigma)) == count


def test_one_layer_alone_is_never_enough():
    assert found([1.0]) == []


def test_scattered_slopes_are_chance():
    assert found([0.3, 1.0, 1.9, 0.6, 1.1, -0.4]) == []


@pytest.mark.parametrize(("share", "expected"), [(8, 1), (7, 0)])
def test_four_fifths_must_agree(share, expected):
    assert len(found([1.0] * share + [0.0] * (10 - share))) == expected


def test_blurred_slopes_do_not_count():
    assert found([1.0] * 5, sigma=SHARP + 0.01) == []
    assert too_small(start([1.0] * 5, sigma=SHARP + 0.01)) == ["default"]
    assert too_small(start([1.0, 5.0], sigma=[0.01, 3.0])) == []


@pytest.mark.parametrize(("slope", "between"), [(0.2, 0), (0.4, 1), (1.0, 0), (-1, 0)])
def test_certain_slopes_that_are_neither_cannot_be_told(slope, between):
    assert len(in_between(start([slope] * 4))) == between
