"""DAT037."""

from dataclasses import replace

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.reasoning_left_out import ReasoningLeftOut
from tests.rules.data.talks import (
    FACTS,
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)

RULE = ReasoningLeftOut()
DROPS = replace(FACTS, drops=("reasoning in history",), reasoning_end="</think>")
BARE = part(3, 5, "assistant", trained=2)
THOUGHT = replace(part(8, 12, "assistant", trained=4), reasoning=True)
TALK = sample(part(1, 3), BARE, part(6, 8), THOUGHT)


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_earlier_answers_are_trained_without_their_reasoning():
    (finding,) = check(RULE, TALK, replace(TALK, row=1), facts=DROPS)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "3 of sample 0")
    assert finding.evidence["answers"] == 2


def test_one_sample_is_nothing():
    assert check(RULE, TALK, facts=DROPS) == ()


def test_a_template_that_keeps_reasoning_has_taken_none():
    assert check(RULE, TALK, TALK) == ()


def test_what_is_not_trained_may_be_left_out():
    silent = sample(part(1, 3), part(3, 5, "assistant"), part(6, 8), THOUGHT)
    assert check(RULE, silent, silent, facts=DROPS) == ()


def test_answers_that_never_think_have_lost_nothing():
    plain = replace(THOUGHT, reasoning=False)
    talk = sample(part(1, 3), BARE, part(6, 8), plain)
    assert check(RULE, talk, talk, facts=DROPS) == ()


def test_rows_that_were_rendered_by_hand_keep_theirs():
    kept = replace(BARE, reasoning=True)
    own = sample(part(1, 3), kept, part(6, 8), THOUGHT)
    assert check(RULE, TALK, TALK, own, facts=DROPS) == ()


def test_answers_between_calls_of_tools_keep_theirs_and_are_no_history():
    thought = replace(part(8, 10, "assistant", trained=2), reasoning=True)
    later = replace(part(12, 14, "assistant", trained=2), reasoning=True)
    chain = sample(part(1, 3), BARE, part(6, 8), thought, part(10, 12, "tool"), later)
    (finding,) = check(RULE, chain, chain, facts=DROPS)
    assert finding.place == Place("token", "3 of sample 0")
