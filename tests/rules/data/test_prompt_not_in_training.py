"""DAT033."""

from dataclasses import replace

from ftlab.records.finding import Place, Severity
from ftlab.records.template_comparison import Difference
from ftlab.rules.data.prompt_not_in_training import SHOWN, PromptNotInTraining
from tests.rules.data.talks import (
    FACTS,
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)

RULE = PromptNotInTraining()
TALK = sample(part(1, 3), part(4, 6, "assistant"))


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_the_prompt_holds_what_no_row_does():
    facts = replace(FACTS, prompt_difference=Difference(9, "<think>" * 9, "Yes"))
    (finding,) = check(RULE, TALK, facts=facts)
    assert finding.severity is Severity.INFO
    assert finding.place == Place("token", "4 of sample 0")
    assert finding.evidence["prompt"] == ("<think>" * 9)[:SHOWN]


def test_a_prompt_that_training_begins_with_is_right():
    assert check(RULE, TALK) == ()
