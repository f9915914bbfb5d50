"""Numbers that are shares of a count, and those that only look like it."""

import numpy as np
import pytest

from ftlab.rules.reading.shares import Shares, bits_of, clearly_risen, shares_of


def rounded_to(bits, values):
    mantissas, exponents = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(mantissas, bits)), exponents - bits)


@pytest.mark.parametrize("count", [7, 16, 120, 128, 1319, 5000])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_shares_are_told_with_their_count(count, kind):
    values = [float(kind(k) / kind(count)) for k in (1, count // 3, count // 2 + 1)]
    found = shares_of([0.0, *values, 1.0])
    assert found is not None
    assert found.count == count


def test_what_may_be_rounded_is_said():
    assert shares_of([0.25, 0.5, 0.75, 0.3, 0.6]) == Shares(20, rounded=True)
    assert shares_of([0.42, 0.57, 0.71]) == Shares(100, rounded=True)
    assert shares_of([0.125, 0.375, 0.625]) == Shares(8, rounded=False)


def test_numbers_of_a_loss_are_no_shares():
    rng = np.random.default_rng(0)
    for length in (3, 5, 20):
        losses = rng.uniform(0.1, 0.9, (50, length)).astype(np.float32)
        assert [shares_of(row.tolist()) for row in losses] == [None] * 50


def test_what_a_bfloat16_holds_is_a_share_where_losses_have_more_bits():
    values = rounded_to(8, np.array([0.3, 0.45, 0.52, 0.6, 0.71])).tolist()
    assert shares_of(values, bits=8) is None
    assert shares_of(values, bits=24) is not None


def test_too_few_and_what_is_no_share_at_all_tell_nothing():
    assert shares_of([0.125, 0.375, 0.375, 0.0, 1.0]) is None
    assert shares_of([0.125, 0.375, 0.625, 1.5]) is None
    assert shares_of([-0.125, 0.125, 0.375, 0.625]) is None
    assert shares_of([]) is None


@pytest.mark.parametrize("bits", [8, 11, 24])
def test_the_bits_of_losses_are_counted(bits):
    losses = np.random.default_rng(0).uniform(0.1, 4.0, 32)
    assert bits_of(rounded_to(bits, losses)) == bits
    assert bits_of(losses) == 24


@pytest.mark.parametrize(
    ("first", "last", "count", "risen"),
    [
        (0.4, 0.75, 128, True),
        (0.4, 0.55, 10_000, False),  # too little
        (0.4, 0.75, 16, False),  # four of sixteen more may be chance
        (0.52, 0.95, 128, False),
        (0.1, 0.49, 128, False),
        (0.75, 0.4, 128, False),
    ],
)
def test_a_clear_rise_leads_past_a_half(first, last, count, risen):
    assert clearly_risen(first, last, count) is risen
