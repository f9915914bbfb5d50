"""DAT036."""

from dataclasses import replace

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.messages_left_out import MessagesLeftOut
from tests.rules.data.talks import (
    FACTS,
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)
from tests.runs import RunBuilder, found_by, only, report_by

RULE = MessagesLeftOut()
NO_CALLS = replace(FACTS, drops=("tools", "tool calls"))
QUESTION = part(1, 3)
OPENING = part(3, 5, "assistant", part="header")
END = part(5, 6, "assistant", part="end")
RESULT = part(7, 9, "tool")
NO_HISTORY = replace(FACTS, drops=("reasoning in history",), reasoning_end="</think>")
BARE = part(3, 5, "assistant", trained=2)
THOUGHT = replace(part(8, 12, "assistant", trained=4), reasoning=True)
TALK = sample(part(1, 3), BARE, part(6, 8), THOUGHT)


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_a_call_is_not_in_the_text():
    (finding,) = check(RULE, sample(QUESTION, OPENING, END, RESULT), facts=NO_CALLS)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "5 of sample 0")
    assert Place("config", "tokenizer.chat_template") in finding.places


def test_a_template_that_writes_calls_has_written_what_there_was():
    assert check(RULE, sample(QUESTION, OPENING, END, RESULT)) == ()


def test_a_last_answer_that_is_empty_made_no_call():
    assert check(RULE, sample(QUESTION, OPENING, END), facts=NO_CALLS) == ()


def test_an_answer_with_a_text_may_hold_its_call():
    spoken = part(4, 5, "assistant")
    opening = part(3, 4, "assistant", part="header")
    talk = sample(QUESTION, opening, spoken, END, RESULT)
    assert check(RULE, talk, facts=NO_CALLS) == ()


def test_earlier_answers_are_trained_without_their_reasoning():
    finding = only(check(RULE, TALK, replace(TALK, row=1), facts=NO_HISTORY), "warning")
    assert finding.place == Place("token", "3 of sample 0")
    assert finding.evidence["answers"] == 2


def test_one_sample_is_nothing():
    assert check(RULE, TALK, facts=NO_HISTORY) == ()


def test_a_template_that_keeps_reasoning_has_taken_none():
    assert check(RULE, TALK, TALK) == ()


def test_what_is_not_trained_may_be_left_out():
    silent = sample(part(1, 3), part(3, 5, "assistant"), part(6, 8), THOUGHT)
    assert check(RULE, silent, silent, facts=NO_HISTORY) == ()


def test_answers_that_never_think_have_lost_nothing():
    plain = replace(THOUGHT, reasoning=False)
    talk = sample(part(1, 3), BARE, part(6, 8), plain)
    assert check(RULE, talk, talk, facts=NO_HISTORY) == ()


def test_rows_that_were_rendered_by_hand_keep_theirs():
    kept = replace(BARE, reasoning=True)
    own = sample(part(1, 3), kept, part(6, 8), THOUGHT)
    assert check(RULE, TALK, TALK, own, facts=NO_HISTORY) == ()


def test_answers_between_calls_of_tools_keep_theirs_and_are_no_history():
    thought = replace(part(8, 10, "assistant", trained=2), reasoning=True)
    later = replace(part(12, 14, "assistant", trained=2), reasoning=True)
    chain = sample(part(1, 3), BARE, part(6, 8), thought, part(10, 12, "tool"), later)
    only(check(RULE, chain, chain, facts=NO_HISTORY), place="token 3 of sample 0")


def check_out(*found, rows=8):
    told = {"left_out": {"rows": rows, "found": list(found)}}
    run = RunBuilder().facts(model={"class": "Llama"}, training=told).step().run
    return found_by(RULE, run)


def lost(kind, rows):
    return {"kind": kind, "rows": rows, "row": 3, "message": 1}


def test_it_is_about_datasets_that_keep_their_messages():
    known = RunBuilder().facts(model={"class": "L"}).step().run
    report = report_by(RULE, known)
    assert (report.findings, report.not_checked) == ((), ())


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("system", "system messages are not in the ids"),
        ("tool", "results of tools are not in the ids"),
        ("tool calls", "tool calls are not in the ids"),
        ("reasoning", "reasoning is not in the ids"),
        ("indentation", "the indentation of an answer's first line is not in the ids"),
    ],
)
def test_each_kind_is_told_in_words(kind, words):
    finding = only(check_out(lost(kind, 8)), "warning", "data message 1 of row 3")
    assert words in finding.message


def test_a_few_rows_are_a_note():
    only(check_out(lost("system", 3)), "info")
    only(check_out(lost("system", 1), rows=2), "info")


def test_the_only_row_there_is_is_enough():
    finding = only(check_out(lost("system", 1), rows=1), "warning")
    assert finding.message == "system messages are not in the ids"


def test_what_is_written_is_right():
    assert check_out() == ()
