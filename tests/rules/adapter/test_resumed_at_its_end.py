"""ADP046."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.resumed_at_its_end import ResumedAtItsEnd
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora


def check(step=12, end=12, trainer="Trainer"):
    training = {"trainer_class": trainer, "max_steps": end}
    builder = RunBuilder().facts(step=step, model={"peft": {}}, training=training)
    return Engine([ResumedAtItsEnd()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([ResumedAtItsEnd()]).check(healthy_lora().run).findings == ()


@pytest.mark.parametrize("step", [12, 14])
def test_nothing_is_left_where_it_goes_on(step):
    (finding,) = check(step)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("config", "max_steps")
    assert f"resumes at step {step} of 12" in finding.message


@pytest.mark.parametrize("case", [{"step": 11}, {"step": 0, "end": 0}, {"trainer": ""}])
def test_what_has_a_step_left_is_fine(case):
    assert check(**case) == ()
