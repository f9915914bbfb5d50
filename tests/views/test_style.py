from ftlab.records.sizes import size
from ftlab.views.style import count, number, steps


def test_numbers_have_three_digits_and_absence_is_a_dash():
    assert number(0.000123456) == "0.000123"
    assert number(8143.2) == "8,140"
    assert number(None) == "-"
    assert number(float("-inf")) == "-Inf"
    assert number(1.5e9) == "1.5e+09"


def test_words_for_counts_steps_and_sizes():
    assert count(1, "step") == "1 step"
    assert count(3000, "step") == "3,000 steps"
    assert steps(3, 3) == "step 3"
    assert steps(3, 5) == "steps 3-5"
    assert steps(-1, 5) == "steps 0-5"
    assert size(2**31) == "2 GiB"
