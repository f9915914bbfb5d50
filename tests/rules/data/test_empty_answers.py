"""DAT035."""

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.empty_answers import EmptyAnswers
from ftlab.rules.engine import Engine
from tests.rules.data.rows import (
    BOS,
    EOS,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    run_of,
    text,
)
from tests.rules.data.talks import part, sample

RULE = EmptyAnswers()
FULL = row([BOS, *text(6), EOS], [-100] * 4 + [13, 14, 15, EOS])
EMPTY = row([BOS, *text(6, 20), EOS], [-100] * 7 + [EOS])
OPENING = part(3, 5, "assistant", part="header")
END = part(5, 6, "assistant", trained=1, part="end")


def told(*talks):
    run = run_of([FULL])
    detail = {"samples": [each.as_json() for each in talks]}
    run.append(Event("turns", 0, 0.0, "", detail))
    return Engine([RULE]).check(run).findings


def test_it_needs_samples():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_a_completion_is_its_end_alone():
    (finding,) = check(RULE, [FULL, EMPTY])
    assert finding.severity is Severity.INFO
    assert finding.place == Place("token", "7 of sample 1")


def test_an_answer_has_a_text():
    assert check(RULE, [FULL]) == ()


def test_a_text_that_is_trained_whole_is_no_empty_answer():
    assert check(RULE, [row([EOS, EOS])]) == ()


def test_a_control_token_that_ends_nothing_is_no_empty_answer():
    turn = row([BOS, *text(6), 3], [-100] * 7 + [3])
    assert check(RULE, [FULL, turn]) == ()


def test_masked_words_are_no_answers():
    assert check(RULE, [row([BOS, *text(6), EOS], [-100] * 7 + [15])]) == ()


def test_an_end_stands_directly_behind_the_opening_of_an_answer():
    (finding,) = told(sample(part(1, 3), OPENING, END, row=4))
    assert finding.place == Place("token", "5 of sample 4")
    assert finding.evidence["answers"] == 1


def test_an_end_that_is_not_trained_teaches_nothing():
    assert told(sample(OPENING, part(5, 6, "assistant", part="end"))) == ()


def test_an_end_behind_a_text_is_right():
    assert told(sample(OPENING, part(5, 6, "assistant"), END)) == ()


def test_a_question_may_be_empty():
    end = part(5, 6, trained=1, part="end")
    for before in (part(3, 5, part="header"), part(3, 5)):
        assert told(sample(before, end)) == ()


def test_an_answer_may_have_no_opening_of_its_own():
    (finding,) = told(sample(part(1, 3), part(3, 5, part="end"), END))
    assert finding.place == Place("token", "5 of sample 0")


def test_a_row_that_begins_behind_an_answer_has_no_empty_one():
    assert told(sample(part(0, 5, "", part="added"), END)) == ()
    assert told(sample(part(0, 5, ""), END)) == ()
    assert told(sample(END, part(6, 8))) == ()


def test_an_end_may_be_written_twice():
    text, first = part(1, 3, "assistant"), part(3, 5, "assistant", part="end")
    assert told(sample(text, first, END)) == ()


def test_what_nothing_is_known_of_may_be_a_text():
    opening = part(3, 4, "assistant", part="header")
    assert told(sample(opening, END)) == ()
