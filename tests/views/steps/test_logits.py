import math

import numpy as np

from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.steps.logits import LogitsView


def measured(entropies, every=4, **others):
    run = Run()
    for step in range(every * len(entropies)):
        values = {}
        if step % every == 0:
            values = {"logit_max": 9.0, "logit_spread": 3.0, "vocabulary": 100.0}
            values |= {"entropy": entropies[step // every], "top_probability": 0.5}
        run.append(StepRecord(step, 0.0, values=values | others))
    return run


def test_text_says_how_sure_the_model_is():
    assert repr(LogitsView(measured([math.log(100), math.log(10)]))) == (
        "Logits: measured at 2 steps\n"
        "largest magnitude 9, largest over mean 3\n"
        "2.3 nats, 50 % of ln(100)\n"
        "50 % on the most likely token"
    )


def test_a_run_without_logits_has_nothing_to_show():
    run = Run()
    run.append(StepRecord(0, 0.0))
    for view in (LogitsView(run), LogitsView(Run())):
        assert view.headline() == ""
        assert repr(view) == "Logits: nothing recorded yet"
        assert len(view.table()) == 0
        assert view.figure().axes


def test_the_table_holds_measured_steps_only():
    table = LogitsView(measured([4.0, 3.0])).table()
    assert table["step"].tolist() == [0, 4]
    np.testing.assert_allclose(table["ln_vocabulary"], math.log(100))


def test_logits_that_are_not_finite_are_marked():
    view = LogitsView(measured([4.0, math.nan]))
    assert view.summary.row("non_finite").tolist()[4] == 1
    assert "NaN nats" in view.headline()


def test_the_uniform_entropy_stands_beside_the_measured_one():
    summary = LogitsView(measured([1.0])).summary
    np.testing.assert_allclose(summary.row("uniform")[0], math.log(100), rtol=1e-6)
    assert summary.plan.panels[1].floor == 0.0
