"""DAT036."""

from dataclasses import replace

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.tool_calls_left_out import ToolCallsLeftOut
from tests.rules.data.talks import (
    FACTS,
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)

RULE = ToolCallsLeftOut()
DROPS = replace(FACTS, drops=("tools", "tool calls"))
QUESTION = part(1, 3)
OPENING = part(3, 5, "assistant", part="header")
END = part(5, 6, "assistant", part="end")
RESULT = part(7, 9, "tool")


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_a_call_is_not_in_the_text():
    (finding,) = check(RULE, sample(QUESTION, OPENING, END, RESULT), facts=DROPS)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "5 of sample 0")
    assert Place("config", "tokenizer.chat_template") in finding.places


def test_a_template_that_writes_calls_has_written_what_there_was():
    assert check(RULE, sample(QUESTION, OPENING, END, RESULT)) == ()


def test_a_last_answer_that_is_empty_made_no_call():
    assert check(RULE, sample(QUESTION, OPENING, END), facts=DROPS) == ()


def test_an_answer_with_a_text_may_hold_its_call():
    spoken = part(4, 5, "assistant")
    opening = part(3, 4, "assistant", part="header")
    talk = sample(QUESTION, opening, spoken, END, RESULT)
    assert check(RULE, talk, facts=DROPS) == ()
