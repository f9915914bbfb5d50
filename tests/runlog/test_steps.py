import numpy as np

from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run


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
