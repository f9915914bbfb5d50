"""From when on a weight counts as standing still."""

import math

import numpy as np

from ftlab.rules.reading.standstill import at_height, coarse, rate_of
from ftlab.rules.reading.updates import effective
from tests.runs import RunBuilder


def built(rates, **columns):
    builder = RunBuilder()
    builder.tensor("w", dtype="bfloat16", shape=(4,))
    for rate in rates:
        builder.step({"weight_l2": 2.0, "grad_l2": 2.0} | columns, lr=(rate,))
    return builder


def test_warm_up_and_decay_are_not_the_height():
    builder = built([1e-5, 1e-3, 1e-3, 1e-5])
    steps = np.arange(4)
    marks = at_height(effective(builder.run), steps, builder.tensors)
    assert marks[:, 0].tolist() == [False, True, True, False]


def test_an_update_far_above_the_grain_is_not_rounded_away():
    ids = np.zeros(1, np.int32)
    for rate, far in ((1.0, True), (1e-4, False)):
        builder = built([rate])
        assert coarse(builder.run, ids, builder.tensors).tolist() == [far]


def test_the_rate_of_no_group_is_not_known():
    builder = built([1e-3])
    assert rate_of(builder.run, builder.tensors) == 1e-3
    assert math.isnan(rate_of(builder.run, []))
