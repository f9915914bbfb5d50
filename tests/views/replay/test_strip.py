import re
from dataclasses import replace

from ftlab.views.replay.grades import Grades
from ftlab.views.replay.strip import MOST, bars_of, strip_html
from tests.views.traced import deep_trace, op, small_trace


def bars(trace):
    return bars_of(trace, Grades(trace))


def test_bars_grow_with_the_magnitude_and_change_colour_with_the_grade():
    heights = [bar.height for bar in bars(small_trace())[2:6]]
    assert heights == sorted(heights)
    assert heights[-1] == 100
    assert len({bar.shade for bar in bars(small_trace())[2:6]}) == 4


def test_a_long_step_has_no_more_bars_and_each_shows_its_worst():
    many = tuple(op(i, "a", 1.0 if i != 777 else 5e4) for i in range(1000))
    found = bars(replace(small_trace(), ops=many, culprit=-1))
    assert len(found) == MOST
    assert [bar.first for bar in found][:3] == [0, 5, 10]
    assert {bar.at for bar in found if bar.height > 60} == {777}


def test_what_has_not_run_yet_is_faded():
    trace = small_trace()
    shown = strip_html(trace, bars(trace), 5)
    assert shown.count("ftlab-r-later") == 7
    assert strip_html(trace, bars(trace), 12).count("ftlab-r-later") == 0


def test_the_culprit_is_marked_in_its_place():
    left, right = small_trace(), deep_trace()
    assert "left:calc(42.31% - 5px)" in strip_html(left, bars(left), 0)
    assert "right:calc(10.62% - 5px)" in strip_html(right, bars(right), 0)
    unknown = replace(left, culprit=-1)
    assert "begins" not in strip_html(unknown, bars(unknown), 0)


def test_phases_are_as_wide_as_they_are_long():
    trace = small_trace()
    found = re.findall(r"flex-grow:(\d+)", strip_html(trace, bars(trace), 0))
    assert found == ["7", "6"]


def test_what_a_bar_says_is_escaped():
    trace = small_trace()
    assert "<b>.default" not in strip_html(trace, bars(trace), 0)
