"""DAT042."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.generated_behind_padding import GeneratedBehindPadding
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run
from tests.runs import RunBuilder, healthy_lora

LEFT = {"call": 0, "rows": 4, "width": 9}
RIGHT = LEFT | {"end_in_padding": 2, "first": 1}


def report(*calls):
    builder = RunBuilder()
    for call in calls:
        builder.step(ops=[("generate", "model", call)])
    return Engine([GeneratedBehindPadding()]).check(builder.run)


def test_runs_without_generations_are_not_judged():
    engine = Engine([GeneratedBehindPadding()])
    assert len(engine.check(Run()).not_checked) == 1
    assert engine.check(healthy_lora().run).not_checked == ()


def test_prompts_that_end_in_text_are_fine():
    assert report(LEFT, LEFT).findings == ()
    assert report(LEFT).not_checked == ()


def test_the_first_prompt_that_ends_in_padding_is_named():
    (finding,) = report(LEFT, RIGHT, LEFT, RIGHT).findings
    assert finding.severity is Severity.WARNING
    assert Place("token", "8 of sample 1") in finding.places
    assert (finding.first_step, finding.last_step) == (1, 3)
    assert "2 prompts of 4" in finding.message
    assert finding.evidence["generations"] == 2
