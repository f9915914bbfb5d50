"""MOD010: what is evaluated with dropout on."""

import pytest

from ftlab.rules.model.training_mode_in_evaluation import TrainingModeInEvaluation
from tests.runs import RunBuilder, found_by, only, report_by

EVALUATION = {"mode": "train", "grad_enabled": False, "times": 4}


def check(detail=EVALUATION, at=(2,), on=3.0, steps=6):
    """Judge a run with forwards of this kind before the updates of some steps."""
    builder = RunBuilder()
    for step in range(steps):
        ops = [("forward", "model", {"mode": "train", "grad_enabled": True})]
        ops += [("forward", "model", detail)] if step in at else []
        builder.step(values={"dropouts_on": on}, ops=ops)
    return found_by(TrainingModeInEvaluation(), builder.run)


def test_an_evaluation_with_dropout_on_is_noted():
    only(check(), "info", "call model.eval", steps=(2, 2), forwards=4, dropouts_on=3)


@pytest.mark.parametrize(
    "changed", [{"mode": "eval"}, {"grad_enabled": True}, {"times": 1}]
)
def test_other_forwards_are_none(changed):
    assert check(EVALUATION | changed) == ()


def test_without_dropout_the_mode_does_not_matter():
    assert check(on=0.0) == ()


def test_passes_at_most_steps_are_no_evaluation():
    assert check(at=(0, 1, 2, 4)) == ()
    assert len(check(at=(0, 2, 4))) == 1


def test_a_run_whose_modes_nobody_looked_at_is_left_out():
    builder = RunBuilder()
    builder.step()
    report = report_by(TrainingModeInEvaluation(), builder.run)
    assert report.findings == report.not_checked == ()


def test_losses_that_are_measured_so_are_a_warning():
    only(check(EVALUATION | {"labels": True}, at=(1, 4)), "warning", reason="losses")
