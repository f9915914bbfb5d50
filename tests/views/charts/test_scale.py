import numpy as np

from ftlab.views.charts.scale import (
    SHARE,
    colours,
    dequantise,
    front_end_scale,
    palette,
    quantise,
)


def test_codes_come_back_as_the_value_to_four_hundredths_of_a_percent():
    values = 10 ** np.random.default_rng(0).uniform(-12, 8, 1000)
    back = dequantise(quantise(values))
    assert np.abs(back / values - 1).max() < 4e-4


def test_codes_are_ordered_by_what_is_worth_seeing():
    levels = [-2.0, -1.0, 0.0, 1e-30, 1e-6, 1.0, 1e30, np.inf, np.nan]
    codes = quantise(levels).astype(int)
    assert (np.diff(codes) > 0).all()
    assert codes[3] == 3
    assert codes[6] == 65533


def test_levels_without_a_number_survive_the_way_there_and_back():
    levels = np.array([-2.0, -1.0, 0.0, np.inf, np.nan])
    assert np.array_equal(dequantise(quantise(levels)), levels, equal_nan=True)


def test_every_kind_of_cell_has_a_colour_of_its_own():
    rgba = colours(quantise([-2.0, -1.0, 0.0, 1e-8, 1.0, 1e6, np.nan])).tolist()
    assert len({tuple(one) for one in rgba}) == 7
    assert rgba[0][3] == 0
    assert all(one[3] == 255 for one in rgba[1:])


def test_nan_and_infinity_share_the_alarm_colour():
    nan, infinite = colours(quantise([np.nan, np.inf])).tolist()
    assert nan == infinite == [229, 0, 76, 255]


def test_the_colour_turns_at_the_marks():
    below, above = colours(quantise([0.5e-6, 2e-6])).astype(int)
    assert below[:3].sum() < 110 < above[:3].sum()
    assert len(palette()) == 256
    healthy, exploding = colours(quantise([0.5e4, 2e4])).astype(int)
    assert healthy[1] > 200 > exploding[1]


def test_shares_are_linear_and_nothing_is_a_share_too():
    shares = np.array([0.0, 0.25, 0.5, 1.0])
    codes = quantise(shares, SHARE)
    np.testing.assert_allclose(dequantise(codes, SHARE), shares, atol=1e-4)
    first, *_ = colours(codes, SHARE).tolist()
    assert first == [*palette(SHARE)[0].tolist(), 255]


def test_the_front_end_is_told_where_ticks_stand_on_the_scale():
    assert [tick[0] for tick in front_end_scale()["ticks"]] == [-6.0, -3.0, 0.0, 4.0]
    assert [tick[0] for tick in front_end_scale(SHARE)["ticks"]] == [0.0, 0.5, 1.0]
