"""Changes are explained by multiples of what adapters add, and by nothing else."""

import numpy as np
import pytest

from ftlab.probes.merging.merge_explained import explained

RANDOM = np.random.default_rng(0)
ONE, OTHER, NOISE = RANDOM.standard_normal((3, 256))


def parts(change, *vectors, adapters=1):
    rows = np.stack([change, *vectors])
    return explained(rows @ rows.T, adapters)


@pytest.mark.parametrize("factor", [0.25, 1.0, -1.0, 7.0])
def test_a_multiple_is_found(factor):
    (part,) = parts(factor * ONE, ONE)
    assert part.factor == pytest.approx(factor)
    assert part.off == pytest.approx(0, abs=1e-6)
    assert not part.turned


def test_what_is_left_is_told_and_bounded():
    (part,) = parts(ONE + 0.3 * NOISE, ONE)
    assert 0.2 < part.off < 0.35
    assert part.factor == pytest.approx(1, abs=0.05)
    assert parts(ONE + NOISE, ONE) == ()


def test_another_direction_is_not_explained():
    assert parts(NOISE, ONE) == ()
    assert parts(NOISE, ONE, OTHER, adapters=2) == ()


@pytest.mark.parametrize("nothing", [0.0 * ONE, np.nan * ONE, np.inf * ONE])
def test_no_change_and_no_numbers_are_nothing(nothing):
    assert parts(nothing, ONE) == ()
    assert parts(ONE, 0.0 * ONE) == ()


def test_the_transpose_is_told_where_the_product_does_not_explain_it():
    (part,) = parts(2 * OTHER, ONE, OTHER)
    assert (part.index, part.turned) == (0, True)
    assert part.factor == pytest.approx(2)


def test_one_of_two_adapters_is_enough():
    (part,) = parts(0.5 * OTHER, ONE, OTHER, adapters=2)
    assert part.index == 1
    assert part.factor == pytest.approx(0.5)


def test_a_sum_of_two_has_a_factor_for_each():
    one, other = parts(ONE + 0.5 * OTHER, ONE, OTHER, adapters=2)
    assert (one.index, other.index) == (0, 1)
    assert (one.factor, other.factor) == (pytest.approx(1), pytest.approx(0.5))


def test_two_adapters_alike_are_told_by_one_of_them_or_not_at_all():
    (part,) = parts(ONE, ONE, ONE, adapters=2)
    assert part.factor == pytest.approx(1)
    near = ONE + 0.2 * OTHER
    assert parts(ONE - near, ONE, near, adapters=2) == ()
