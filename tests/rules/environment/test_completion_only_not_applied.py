"""ENV008."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.environment.completion_only_not_applied import CompletionOnlyNotApplied
from tests.runs import RunBuilder, found_by, only

ASKED = {"completion_only_loss": True}
TRL, OTHER = "trl.trainer.sft_trainer", "transformers.data.data_collator"


def check(*ignored, asked=ASKED, collator=OTHER):
    told = {"asked": asked, "made": {"collator": collator}}
    builder = RunBuilder().facts(model={"class": "Llama"}, training=told)
    for each in ignored:
        values = {"ignored": each, "padding": 3, "labels": 37 - each, "batch_size": 4}
        builder.step(values=values)
    return found_by(CompletionOnlyNotApplied(), builder.run)


@pytest.mark.parametrize("name", ["completion_only_loss", "assistant_only_loss"])
def test_no_token_of_the_text_is_left_out(name):
    finding = only(check(3, 3, asked={name: True}, collator=TRL), "warning")
    assert finding.place == Place("config", name)
    assert finding.evidence["reason"] == "no-mask"


def test_another_collator_may_leave_out_the_ends():
    only(check(7, 7), reason="foreign-collator")
    assert check(8, 8) == ()


def test_prompts_of_one_token_are_left_out_by_the_collator_of_trl():
    assert check(7, 7, collator=TRL) == ()


def test_one_step_with_a_prompt_shows_that_it_is_applied():
    assert check(3, 3, 20) == ()


def test_what_nobody_asked_for_is_left_in_peace():
    assert check(3, 3, asked={}) == ()
    assert check(3, 3, asked={"completion_only_loss": False}) == ()
