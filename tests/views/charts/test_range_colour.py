import math

import pytest

from ftlab.replay.stops.report import TensorFacts
from ftlab.views.charts.range_colour import STRONGEST, colour, level, range_words
from ftlab.views.style import SPECIAL


def facts(low, high, dtype="float32", **counts):
    return TensorFacts("x", dtype, (2,), low, high, **counts)


def opacity(text):
    return float(text.rpartition(",")[2].rstrip(")"))


def test_an_ordinary_range_has_no_colour():
    assert colour(facts(-2.0, 3.0)) == ""
    assert colour(facts(0.0, 1e-5)) == ""


def test_the_colour_grows_with_every_power_of_ten():
    shades = [opacity(colour(facts(0.0, 10.0**power))) for power in range(2, 9)]
    assert shades == sorted(set(shades))
    assert shades[-1] == STRONGEST


def test_it_is_full_where_the_dtype_ends():
    assert level(-65504.0, 0.0, "float16") == 1.0
    assert level(-65504.0, 0.0, "float32") < 0.6


def test_far_too_small_has_a_colour_of_its_own():
    small = colour(facts(0.0, 1e-12))
    assert small
    assert small.split(",")[:3] != colour(facts(0.0, 1e5)).split(",")[:3]


@pytest.mark.parametrize(
    "bad",
    [facts(0.0, 1.0, nans=1), facts(0.0, 1.0, infs=2), facts(0.0, math.inf)],
    ids=["nan", "inf", "range of a chain"],
)
def test_what_is_not_finite_has_the_colour_it_has_everywhere(bad):
    assert SPECIAL["non-finite"] in colour(bad)


def test_zero_everywhere_is_said_and_coloured():
    assert SPECIAL["zero"] in colour(facts(0.0, 0.0))
    assert range_words(facts(0.0, 0.0)) == "0 everywhere"


def test_words_name_what_is_not_finite_first():
    assert range_words(facts(-1.0, 2.0, nans=3, infs=1200)) == (
        "3 NaN, 1,200 Inf, -1 to 2"
    )
    assert range_words(facts(4.0, 4.0)) == "4"
    assert range_words(facts(None, None)) == "no finite value"
