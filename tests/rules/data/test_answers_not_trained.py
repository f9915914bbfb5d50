"""DAT034."""

from dataclasses import replace

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.answers_not_trained import AnswersNotTrained
from tests.rules.data.talks import (
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)

RULE = AnswersNotTrained()
QUESTION = part(1, 3)
SILENT = sample(
    QUESTION, part(3, 5, "assistant"), part(5, 6, "assistant", part="end"), row=2
)
TRAINED = sample(
    QUESTION,
    part(3, 5, "assistant", trained=2),
    part(5, 6, "assistant", trained=1, part="end"),
)


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_half_of_the_answers_are_not_found_by_their_marker():
    (finding,) = check(RULE, TRAINED, SILENT, TRAINED, SILENT)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "3 of sample 2")
    assert finding.evidence["samples"] == 2


def test_a_smaller_part_may_be_left_out_on_purpose():
    (finding,) = check(RULE, *[TRAINED] * 3, SILENT, SILENT)
    assert finding.severity is Severity.INFO


def test_one_sample_is_nothing():
    assert check(RULE, TRAINED, SILENT) == ()


def test_an_answer_that_was_cut_off_is_another_matter():
    cut = sample(QUESTION, part(3, 5, "assistant"))
    assert check(RULE, TRAINED, cut, cut) == ()


def test_an_answer_may_have_no_end_but_the_next_question():
    talk = sample(QUESTION, part(3, 5, "assistant"), part(5, 6, part="header"))
    assert len(check(RULE, TRAINED, talk, talk)) == 1


def test_a_question_alone_has_no_labels():
    asked = sample(QUESTION, part(3, 4, part="end"))
    assert check(RULE, TRAINED, asked, asked) == ()


def test_where_no_sample_is_trained_the_loss_says_so():
    assert check(RULE, SILENT, SILENT) == ()


def test_batches_without_labels_are_no_evidence():
    unlabelled = replace(SILENT, labelled=False)
    assert check(RULE, TRAINED, unlabelled, unlabelled) == ()


def test_earlier_answers_may_be_left_out():
    talk = sample(*SILENT.turns, part(6, 8, "assistant", trained=2))
    assert check(RULE, TRAINED, talk, talk) == ()
