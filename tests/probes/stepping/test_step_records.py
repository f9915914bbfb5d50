"""Records made of what was measured."""

import numpy as np

from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.stepping.step_records import late_records, records_of
from ftlab.records.step import Block, StepRecord


def block(ids, **columns):
    values = {name: np.array(v, np.float32) for name, v in columns.items()}
    return Block("tensors", 3, np.array(ids, np.int32), values)


def over():
    step = OpenStep(3)
    step.draft["time"] = 9.0
    return step


def test_columns_of_the_same_rows_become_one_block():
    results = [block([4, 5], a=[1, 2]), block([4, 5], b=[3, 4])]
    found, row = records_of(over(), results, None)
    assert isinstance(found, Block)
    assert isinstance(row, StepRecord)
    assert {name: v.tolist() for name, v in found.values.items()} == {
        "a": [1, 2],
        "b": [3, 4],
    }


def test_rows_that_a_column_lacks_are_nan():
    results = [block([4, 5, 6], a=[1, 2, 3]), block([6], b=[7]), block([4], b=[8])]
    found, _ = records_of(over(), results, None)
    assert found.ids.tolist() == [4, 5, 6]
    assert found.ids.dtype == np.int32
    np.testing.assert_array_equal(found.values["b"], [8, np.nan, 7])


def test_values_reach_their_fields_or_the_columns():
    step = over()
    step.draft.update(loss=1.5, lr=(0.1,))
    step.micro_batches = 2
    (row,) = records_of(step, [{"grad_norm": 2.0, "tokens": 5.0}, {"tokens": 3.0}], 7)
    assert (row.loss, row.grad_norm, row.trainer_step) == (1.5, 2.0, 7)
    assert (row.micro_batches, row.values) == (2, {"tokens": 8.0})


def left_open():
    step = OpenStep(4)
    for op in ("forward", "backward", "save", "merge", "zero_grad"):
        step.ledger.add(op)
    return step


def test_what_was_done_after_the_last_step_is_kept_with_it():
    late = list(late_records(left_open(), (3, 5)))
    assert [(e.step, e.index, e.op) for e in late] == [(3, 5, "save"), (3, 6, "merge")]


def test_without_any_step_it_is_of_none():
    assert {entry.step for entry in late_records(left_open(), None)} == {-1}
