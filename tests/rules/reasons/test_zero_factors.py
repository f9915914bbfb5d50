"""Norms that stand beside gradients of 0: what was measured last counts."""

import numpy as np
import pytest

from ftlab.records.step import Block, StepRecord
from ftlab.rules.reading.tensors import records_of
from ftlab.rules.reasons.zero_factors import zero_beside_zero
from tests.runs import RunBuilder


def excused(*weights):
    builder = RunBuilder()
    builder.lora("layers.0")
    for weight in weights:
        columns = {"has_grad": 1.0, "grad_l2": 0.0}
        builder.step(columns | ({} if weight is None else {"weight_l2": weight}))
    names = records_of(builder.run, builder.run.matrix("has_grad").ids)
    return zero_beside_zero(builder.run, names, np.ones(2, bool)).tolist()


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([[3.0, 0.0], None], [True, False]),
        ([None, [3.0, 0.0], None, None], [True, False]),
        ([[3.0, 0.0], [3.0, 0.2]], [False, False]),
        ([None, None], [True, True]),
    ],
)
def test_the_partner_is_what_it_was_measured_last(weights, expected):
    assert excused(*weights) == expected


def test_a_norm_that_one_of_the_two_lacks_is_that_of_an_earlier_step():
    builder = RunBuilder()
    builder.lora("layers.0")
    builder.step({"has_grad": 1.0, "grad_l2": 0.0, "weight_l2": [3.0, 0.0]})
    builder.tensor("model.new")
    only = Block("tensors", 1, np.array([2], np.int32), {"weight_l2": np.ones(1)})
    builder.run.append(only)
    builder.run.append(StepRecord(step=1, time=1.0))
    names = records_of(builder.run, builder.run.matrix("weight_l2").ids)
    mask = np.array([True, True, False])
    assert zero_beside_zero(builder.run, names, mask).tolist() == [True, False, False]
