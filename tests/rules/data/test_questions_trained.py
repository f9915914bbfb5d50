"""DAT030."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.questions_trained import QuestionsTrained
from tests.rules.data.talks import (
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)

RULE = QuestionsTrained()
ANSWER = part(5, 8, "assistant", trained=3)


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_a_whole_conversation_is_legal():
    (finding,) = check(RULE, sample(part(1, 4, trained=3), ANSWER))
    assert finding.severity is Severity.INFO
    assert finding.evidence["reason"] == "whole"
    assert finding.place == Place("token", "1 of sample 0")


def test_a_long_conversation_is_legal_as_well():
    later = part(9, 12, trained=3)
    for talk in (sample(part(1, 4, trained=3), ANSWER, later), sample(ANSWER, later)):
        (finding,) = check(RULE, talk)
        assert finding.evidence["reason"] == "whole"


def test_labels_in_the_midst_of_a_question_come_from_no_marker():
    (finding,) = check(RULE, sample(part(1, 5, trained=1, first=2), ANSWER))
    assert finding.evidence["reason"] == "whole"


@pytest.mark.parametrize("name", ["assistant_only_loss", "completion_only_loss"])
def test_who_asked_for_answers_alone_does_not_get_them(name):
    talk = sample(part(1, 4, trained=3), ANSWER)
    (finding,) = check(RULE, talk, asked={name: True})
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("config", name)
    assert finding.evidence["reason"] == "asked"


def test_a_mask_runs_on_into_the_next_question():
    talk = sample(part(1, 4), ANSWER, part(9, 12, trained=3))
    (finding,) = check(RULE, talk)
    assert finding.evidence["reason"] == "leak"
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "9 of sample 0")


def test_a_marker_stands_in_the_question_as_well():
    (finding,) = check(RULE, sample(part(1, 5, trained=2), ANSWER))
    assert finding.evidence["reason"] == "marker"
    assert finding.place == Place("token", "3 of sample 0")


def test_answers_alone_are_right():
    assert check(RULE, sample(part(1, 4), ANSWER, part(9, 12))) == ()


def test_openings_and_ends_of_questions_are_no_text():
    header = part(0, 1, trained=1, part="header")
    assert check(RULE, sample(header, part(1, 4), ANSWER)) == ()


def test_a_text_whose_role_is_not_known_is_no_question():
    assert check(RULE, sample(part(1, 4, role="", trained=3), ANSWER)) == ()
