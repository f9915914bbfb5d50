"""DAT031."""

from dataclasses import replace

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.generation_prompt_trained import GenerationPromptTrained
from ftlab.rules.engine import Engine
from tests.rules.data.rows import BOS, EOS, row, run_of, text
from tests.rules.data.talks import (
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)

RULE = GenerationPromptTrained()
ANSWER = part(3, 5, "assistant", trained=2)
OPENING = part(5, 7, "assistant", trained=2, part="generation prompt")
OVER = sample(part(1, 3), ANSWER)
OPEN = sample(part(1, 3), ANSWER, OPENING)


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_samples_end_with_an_opening():
    (finding,) = check(RULE, OPEN, OPEN, OVER)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "5 of sample 0")


def test_some_rows_may_be_cut_there():
    assert check(RULE, OPEN, OPEN, OVER, OVER, OVER) == ()
    assert check(RULE, OPEN) == ()


def test_prompts_without_an_answer_end_so():
    prompt = sample(part(1, 3), OPENING)
    assert check(RULE, prompt, prompt) == ()


def test_an_opening_that_is_not_trained_does_no_harm():
    untrained = part(5, 7, "assistant", part="generation prompt")
    talk = sample(part(1, 3), ANSWER, untrained)
    assert check(RULE, talk, talk) == ()


def test_an_opening_may_look_like_that_of_any_answer():
    talk = sample(part(1, 3), ANSWER, replace(OPENING, part="header"))
    assert len(check(RULE, talk, talk)) == 1


def test_the_opening_of_a_question_is_another_matter():
    talk = sample(part(1, 3), ANSWER, replace(OPENING, role="user", part="header"))
    assert check(RULE, talk, talk) == ()


def test_an_opening_with_something_behind_it_was_answered():
    talk = replace(OPEN, end=OPEN.end + 2)
    assert check(RULE, talk, talk) == ()


def empty(end, before=ANSWER):
    opening = part(5, 7, "assistant", trained=2, part="header")
    return sample(part(1, 3), before, opening, end)


def test_a_second_answer_that_is_only_an_end_is_none():
    talk = empty(part(7, 8, "assistant", trained=1, part="end"))
    (finding,) = check(RULE, talk, talk, OVER)
    assert finding.place == Place("token", "5 of sample 0")


def test_an_empty_answer_to_a_question_is_another_matter():
    end = part(7, 8, "assistant", trained=1, part="end")
    opening = part(5, 7, "assistant", trained=2, part="header")
    question = part(3, 5, "user")
    talk = sample(part(0, 1), part(1, 3, "assistant"), question, opening, end)
    assert check(RULE, talk, talk) == ()


def test_a_second_answer_may_be_short():
    talk = empty(part(7, 8, "assistant", trained=1))
    assert check(RULE, talk, talk) == ()


def test_an_end_that_is_not_of_the_template_is_no_answer_either():
    talks = [
        replace(empty(part(7, 8, "assistant", trained=1)), row=n) for n in range(3)
    ]
    assert len(told(talks, [row([BOS, *text(6, n), EOS]) for n in (20, 30, 40)])) == 1
    same = [row([BOS, *text(6, 20), EOS])] * 3
    assert told(talks, same)[0].evidence["samples"] == 3
    assert told(talks, [row([BOS, *text(7, n)]) for n in (20, 30, 40)]) == ()


def told(talks, rows):
    run = run_of(rows)
    detail = {"samples": [each.as_json() for each in talks]}
    run.append(Event("turns", 0, 0.0, "", detail))
    return Engine([RULE]).check(run).findings
