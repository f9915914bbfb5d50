import numpy as np
import pytest

from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.steps.cost import CostView

STEPS = 40


def run_of(**meta):
    """Steps of 100 ms; ftlab takes 20 of those of the first look, 3 of the others."""
    run = Run(meta=meta)
    for step in range(STEPS):
        taken = 0.02 if step in (0, 1, 2, 3, 4, 8, 16) else 0.003
        values = {"ftlab_seconds": taken}
        run.append(StepRecord(step, time=0.1 * step, values=values))
    return run


MEASURED = {
    "weights": {"steps": 7, "planned": 16, "ms": 0.5},
    "adapters": {"steps": 9, "planned": 16, "ms": 4.0},
}


def test_the_first_look_stands_apart():
    view = CostView(run_of(config={"budget": 0.02}, measured=MEASURED))
    assert view.summary.first == pytest.approx(140)
    assert view.summary.usual == pytest.approx(3)
    assert view.summary.share == pytest.approx(0.03)
    said = repr(view)
    assert "3 ms per step, 3.0% of the time, with a budget of 0.02" in said
    assert "140 ms for the first measurements, in 7 steps" in said
    assert "adapters: measured in 9 of 40 steps, 4 ms each" in said
    assert view.table()["probe"].tolist() == ["adapters", "weights"]
    assert view.figure().axes[0].get_ylabel() == "ms taken by ftlab"


def test_a_run_of_a_few_steps_has_only_had_its_first_look():
    run = Run()
    run.append(StepRecord(0, time=0.0, values={"ftlab_seconds": 0.05}))
    assert repr(CostView(run)) == (
        "Cost of watching: 50 ms for the first measurements, in 1 step"
    )


@pytest.mark.parametrize(
    "measured", [None, 3, [1], {"x": 1}, {"x": {"steps": "many"}}, {"x": {"steps": 1}}]
)
def test_what_another_program_wrote_is_left_out(measured):
    view = CostView(run_of(config=None, measured=measured))
    assert view.summary.probes == ()
    assert np.isfinite(view.summary.ms).all()
