"""Readers of one window share what was read; what is appended is seen by all."""

import numpy as np
import pytest

from ftlab.records.step import Block, LedgerEntry, StepRecord
from ftlab.runlog.memo import Memo
from ftlab.runlog.run import Run


def grown(run, step):
    ids = np.arange(3, dtype=np.int32)
    values = np.full(3, step, np.float32)
    run.append(LedgerEntry(step, 0, "step", "optimizer 0"))
    run.append(Block("tensors", step, ids, {"grad_l2": values}))
    run.append(StepRecord(step=step, time=float(step), loss=1.0))
    return run


def test_a_column_of_a_window_is_read_once():
    window = grown(Run(), 0).window(0)
    assert window.matrix("grad_l2") is window.matrix("grad_l2")
    assert window.steps is window.steps


def test_a_shared_column_cannot_be_written_to():
    matrix = grown(Run(), 0).window(0).matrix("grad_l2")
    with pytest.raises(ValueError, match="read-only"):
        matrix.values[0] = 5


def test_columns_of_the_whole_run_are_the_callers_own():
    run = grown(Run(), 0)
    run.matrix("grad_l2").values[0] = 5
    assert (run.matrix("grad_l2").values == 0).all()


def test_what_is_appended_is_seen():
    run = grown(Run(), 0)
    assert (len(run.steps), len(run.ledger)) == (1, 1)
    grown(run, 1)
    assert (len(run.steps), len(run.ledger)) == (2, 2)
    assert run.window(0).matrix("grad_l2").shape == (2, 3)


def test_a_list_that_a_reader_changes_is_its_own():
    window = grown(Run(), 0).window(0)
    window.ledger.clear()
    window.names().clear()
    assert len(window.ledger) == 1


def test_a_value_is_made_once_for_each_version():
    memo, made = Memo(), []
    for version in (1, 1, 2, 2):
        memo.get(version, "key", lambda: made.append(0))
    assert len(made) == 2
