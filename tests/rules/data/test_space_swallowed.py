"""DAT040."""

from dataclasses import replace

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.space_swallowed import SpaceSwallowed
from tests.rules.data.talks import (
    FACTS,
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)

RULE = SpaceSwallowed()
TALK = sample(part(1, 2), part(2, 3, part="end"), part(3, 5, "assistant"))


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_each_token_is_named_once():
    facts = replace(FACTS, swallowed={"<u>": "\n", "</t>": " "})
    (finding,) = check(RULE, TALK, facts=facts)
    assert finding.severity is Severity.INFO
    assert "'\\n'" in finding.message
    assert "'<u>', '</t>'" in finding.message
    setting = Place("config", "tokenizer.added_tokens_decoder")
    assert finding.places[:2] == (setting, Place("token", "2 of sample 0"))


def test_tokens_that_leave_all_as_it_is_are_right():
    assert check(RULE, TALK) == ()
