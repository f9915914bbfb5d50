import math
from dataclasses import replace

import numpy as np

from ftlab.views.replay.grades import BAD, GRADES, Grades
from tests.views.traced import deep_trace, op, small_trace


def names(trace):
    return [GRADES[grade] for grade in Grades(trace).of]


def test_grades_grow_from_normal_to_bad():
    assert names(small_trace())[2:6] == ["ok", "large", "near overflow", "non-finite"]


def test_the_minus_infinity_of_a_mask_is_no_grade():
    grades = Grades(small_trace())
    assert names(small_trace())[1] == "ok"
    assert grades.magnitude[1] == 0.5


def test_the_smallest_number_of_a_mask_is_no_overflow():
    masked = op(0, "model", 3.0, low=-65504.0)
    assert names(replace(small_trace(), ops=(masked,), culprit=-1)) == ["ok"]


def test_the_same_number_is_near_for_one_dtype_and_far_for_another():
    half, full = op(0, "a", 3e4), op(1, "b", 3e4, dtype="float32")
    found = names(replace(small_trace(), ops=(half, full), culprit=-1))
    assert found == ["near overflow", "large"]


def test_what_follows_the_culprit_is_bad_and_an_infinity_beside_it_is_not():
    trace = small_trace()
    beside = op(13, "model.layers.1.mlp", 1.0, low=-math.inf, infs=1, parents=(0,))
    follows = op(14, "model.layers.1.mlp", 1.0, low=-math.inf, infs=1, parents=(5,))
    grades = Grades(replace(trace, ops=(*trace.ops, beside, follows)))
    assert grades.of[13:].tolist() == [0, BAD]


def test_what_is_non_finite_before_the_culprit_goes_nowhere():
    trace = small_trace()
    harmless = op(2, "model.layers.0.mlp", None, low=None, nans=3)
    ops = (*trace.ops[:2], harmless, *trace.ops[3:])
    grades = Grades(replace(trace, ops=ops))
    assert grades.of[2] == 0
    assert np.isnan(grades.magnitude[2])


def test_without_a_culprit_everything_non_finite_is_bad():
    found = names(replace(small_trace(), culprit=-1))
    assert found[5] == "non-finite"


def test_views_constants_and_whole_numbers_have_no_magnitude():
    ops = (
        op(0, "a", 5e4, making="view"),
        op(1, "a", 5e4, making="constant"),
        op(2, "a", 5e4, making="uninitialised"),
        op(3, "a", 5e4, dtype="int64"),
    )
    grades = Grades(replace(small_trace(), ops=ops, culprit=-1))
    assert np.isnan(grades.magnitude).all()
    assert grades.of.tolist() == [0, 0, 0, 0]


def test_the_first_of_the_worst_is_chosen():
    trace = deep_trace()
    grades = Grades(trace)
    assert grades.worst(np.arange(80)) == 71
    assert grades.worst(np.arange(60)) == 0
    assert grades.worst(np.arange(0)) == -1
