"""MOD012: updates that are taken back."""

import numpy as np
import pytest

from ftlab.records.finding import Severity
from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.model.updates_undone import UpdatesUndone
from tests.runs import RunBuilder, checker, only

STEP = ("step", "optimizer 0", {})


def built(rows, ops=None):
    """Build a run: ``rows`` hold values by step, ``ops`` operations by step."""
    builder = RunBuilder()
    for step, row in enumerate(rows):
        quiet = {} if step == 0 else {"weights_written": 0.0, "back_at_first": 0.0}
        builder.step(ops=[*(ops or {}).get(step, ()), STEP], values=quiet | row)
    return builder


findings = checker(UpdatesUndone())


def undone(count, **further):
    return {"updates_compared": 5.0, "updates_put_back": count} | further


def home(back=1.0):
    return {"weights_written": 1.0, "back_at_first": back}


def left(share, written=1.0):
    return {"weights_written": written, "left_by_evaluation": share}


def test_is_quiet_where_updates_stay():
    assert findings(built([{}, *[undone(0.0)] * 6])) == ()


@pytest.mark.parametrize(("times", "found"), [(3, 0), (4, 1)])
def test_takes_four_updates_of_which_nothing_is_left(times, found):
    rows = [{}, undone(0.0), *[undone(5.0)] * times]
    got = findings(built(rows))
    assert [each.severity for each in got] == [Severity.ERROR] * found
    assert [each.first_step for each in got] == [2] * found


def test_one_tensor_that_stays_or_one_update_at_the_end_is_enough():
    assert findings(built([{}, *[undone(4.0)] * 6])) == ()
    assert findings(built([{}, *[undone(5.0)] * 6, undone(0.0)])) == ()


def test_updates_that_are_tried_out_in_a_forward_are_a_note():
    only(findings(built([{}, *[undone(5.0, left_by_evaluation=0.0)] * 6])), "info")


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([{}, home()] * 4, 1),
        ([{}, home()] * 3, 0),
        ([{}, *[home()] * 6], 0),
        ([*[{}, home()] * 4, {}, {}, home(back=0.0)], 0),
    ],
)
def test_the_first_weights_must_be_back_often_but_not_always(rows, found):
    got = findings(built(rows))
    assert [each.evidence["reason"] for each in got] == ["back-at-first"] * found


@pytest.mark.parametrize(
    ("shares", "severity"),
    [
        ((0.99, 0.95), Severity.WARNING),
        ((0.0, 0.99, 0.99), Severity.WARNING),
        ((0.5, 0.5), Severity.INFO),
        ((0.01, 0.02), None),
        ((0.99,), None),
        ((0.99, 0.99, 0.0), None),
    ],
)
def test_what_evaluations_leave_is_judged_by_the_share_that_is_lost(shares, severity):
    rows = [{}, {}]
    for share in shares:
        rows += [left(share, written=float(share > 0)), {}]
    got = [each.severity for each in findings(built(rows))]
    assert got == ([] if severity is None else [severity])


def test_one_write_at_another_time_shows_that_writing_is_the_method():
    rows = [{}, left(0.99), {}, left(0.99), {}, {"weights_written": 1.0}]
    assert findings(built(rows)) == ()


@pytest.mark.parametrize(
    "operation",
    [
        ("load", "optimizer 0", {}),
        ("step", "optimizer 1", {}),
        ("merge", "adapters", {}),
    ],
)
def test_trials_and_merges_are_meant(operation):
    rows = [{}, home()] * 4
    assert len(findings(built(rows))) == 1
    assert findings(built(rows, {3: [operation]})) == ()


def test_a_base_that_has_taken_over_what_was_learned_is_meant():
    builder = built([{}, home()] * 4)
    name = NameRecord(9, "frozen", "q.base_layer.weight", "param", "")
    builder.run.append(name)
    columns = {"delta_max": 0.1, "delta_share": 1.0, "mean_abs": 0.1, "cycles": 0.0}
    columns["gradient"] = 0.0
    values = {key: np.array([value], np.float32) for key, value in columns.items()}
    builder.run.append(Block("frozen", 7, np.array([9], np.int32), values))
    assert findings(builder) == ()
