"""DAT030."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.questions_trained import QuestionsTrained
from tests.rules.data.rows import EOS, check as check_rows, row, text
from tests.rules.data.talks import check, part, sample
from tests.runs import only

RULE = QuestionsTrained()
ANSWER = part(5, 8, "assistant", trained=3)


def test_a_whole_conversation_is_legal():
    finding = only(check(RULE, sample(part(1, 4, trained=3), ANSWER)), "info")
    assert finding.evidence["reason"] == "whole"
    assert finding.place == Place("token", "1 of sample 0")


def test_a_long_conversation_is_legal_as_well():
    later = part(9, 12, trained=3)
    for talk in (sample(part(1, 4, trained=3), ANSWER, later), sample(ANSWER, later)):
        only(check(RULE, talk), reason="whole")


def test_labels_in_the_midst_of_a_question_come_from_no_marker():
    only(check(RULE, sample(part(1, 5, trained=1, first=2), ANSWER)), reason="whole")


@pytest.mark.parametrize("name", ["assistant_only_loss", "completion_only_loss"])
def test_who_asked_for_answers_alone_does_not_get_them(name):
    talk = sample(part(1, 4, trained=3), ANSWER)
    finding = only(check(RULE, talk, asked={name: True}), "warning", reason="asked")
    assert finding.place == Place("config", name)


def test_a_mask_runs_on_into_the_next_question():
    talk = sample(part(1, 4), ANSWER, part(9, 12, trained=3))
    only(check(RULE, talk), "warning", "token 9 of sample 0", reason="leak")


def test_a_marker_stands_in_the_question_as_well():
    finding = only(check(RULE, sample(part(1, 5, trained=2), ANSWER)), reason="marker")
    assert finding.place == Place("token", "3 of sample 0")


def test_answers_alone_are_right():
    assert check(RULE, sample(part(1, 4), ANSWER, part(9, 12))) == ()


def test_openings_and_ends_of_questions_are_no_text():
    header = part(0, 1, trained=1, part="header")
    assert check(RULE, sample(header, part(1, 4), ANSWER)) == ()


def test_a_text_whose_role_is_not_known_is_no_question():
    assert check(RULE, sample(part(1, 4, role="", trained=3), ANSWER)) == ()


MARK = [90, 91, 92]


def answered(begin, within=(), mark=MARK):
    question = text(4, begin)
    answer = [*text(3, begin + 5), *within, *text(2, begin + 9), EOS]
    ids = [*question, *mark, *answer]
    start = len(question) + len(mark)
    return row(ids, [-100] * start + ids[start:])


PLAIN = [answered(begin) for begin in (10, 20, 30, 40)]


def test_a_marker_within_what_is_trained_is_named():
    (finding,) = check_rows(RULE, [*PLAIN, answered(50, MARK)], pieces={90: "###"})
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "10 of sample 4")
    assert "'###'" in finding.message
    assert finding.evidence["samples"] == 1


def test_part_of_a_marker_is_met_in_any_text():
    assert check_rows(RULE, [*PLAIN, answered(50, MARK[1:])]) == ()


def test_one_token_is_no_marker():
    marks = {n: [n + 70, 92] for n in (10, 20, 30, 40, 50)}
    rows = [answered(n, mark, mark=mark) for n, mark in marks.items()]
    assert check_rows(RULE, rows) == ()


def test_prompts_that_close_in_several_ways_have_no_marker():
    rows = [answered(n, [n, n + 1], mark=[n, n + 1]) for n in (10, 20, 30, 40)]
    assert check_rows(RULE, rows) == ()


def test_few_samples_prove_nothing():
    assert check_rows(RULE, [*PLAIN[:2], answered(50, MARK)]) == ()


def test_labels_turn_by_turn_leave_markers_out():
    rows = []
    for begin in (10, 20, 30, 40):
        turn = [*text(4, begin), *MARK, *text(3, begin + 4), EOS]
        own = [-100] * 7 + turn[7:]
        rows.append(row(turn * 2, own * 2))
    assert check_rows(RULE, rows) == ()


def test_texts_that_are_trained_whole_have_no_border():
    rows = [
        row([*text(4, n), *MARK, *text(3, n), *MARK, EOS]) for n in (10, 20, 30, 40)
    ]
    assert check_rows(RULE, rows) == ()
