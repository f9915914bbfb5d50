import numpy as np
import pytest

from ftlab.records.errors import BadValueError
from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.runlog.steps import StepRows, rectangle


def test_columns_keep_their_values_while_they_grow():
    run = Run()
    early = None
    for step in range(1000):
        values = {"late": step} if step >= 700 else {}
        run.append(StepRecord(2 * step, step, loss=step, lr=(step,), values=values))
        if step == 10:
            early = run.steps
    steps = run.steps
    np.testing.assert_array_equal(steps.step, 2 * np.arange(1000))
    np.testing.assert_array_equal(steps["loss"], np.arange(1000))
    np.testing.assert_array_equal(steps["lr"][:, 0], np.arange(1000))
    assert steps.known("late").tolist() == [False] * 700 + [True] * 300
    assert steps["late"][700:].tolist() == list(range(700, 1000))
    assert len(early) == 11
    assert early["loss"].tolist() == list(range(11))


def test_says_which_columns_there_are():
    run = Run()
    run.append(StepRecord(0, 0.0, values={"mine": 1.0}))
    assert "mine" in run.steps
    assert "lr" in run.steps
    assert "other" not in run.steps
    assert {"loss", "mine", "lr"} <= set(run.steps)


def test_rows_that_were_read_together_are_as_if_they_came_one_by_one():
    one, many = Run(), Run()
    for step in range(300):
        loss = None if step % 3 else float(step)
        rate = (0.1,) if step < 200 else (0.1, 0.2)
        one.append(StepRecord(step, float(step), loss=loss, lr=rate))
    known = np.arange(300) % 3 == 0
    for part in (slice(0, 10), slice(10, 300)):
        step = np.arange(300)[part]
        loss = np.where(known, np.arange(300.0), np.nan)[part]
        lists = np.concatenate([(0.1,) if n < 200 else (0.1, 0.2) for n in step])
        rates = rectangle(np.where(step < 200, 1, 2), lists)
        many.append(StepRows(step, {"loss": (loss, known[part])}, rates))
    np.testing.assert_array_equal(many.steps.step, one.steps.step)
    for column in ("loss", "lr"):
        np.testing.assert_array_equal(many.steps[column], one.steps[column])
        np.testing.assert_array_equal(many.steps.known(column), one.steps.known(column))


def test_rows_in_disorder_are_refused():
    run = Run()
    with pytest.raises(BadValueError, match="steps must increase"):
        run.append(StepRows(np.array([0, 2, 1]), {}, np.empty((3, 0))))
    assert len(run.steps) == 0
