"""DAT031."""

from dataclasses import replace

from ftlab.records.event import Event
from ftlab.records.finding import Place
from ftlab.rules.data.answers_not_taught import AnswersNotTaught
from ftlab.rules.engine import Engine
from tests.rules.data.rows import BOS, EOS, check as check_rows, row, run_of, text
from tests.rules.data.talks import check, part, sample
from tests.runs import only

RULE = AnswersNotTaught()
ANSWER = part(3, 5, "assistant", trained=2)
OPENING = part(5, 7, "assistant", trained=2, part="generation prompt")
OVER = sample(part(1, 3), ANSWER)
OPEN = sample(part(1, 3), ANSWER, OPENING)


def test_samples_end_with_an_opening():
    only(check(RULE, OPEN, OPEN, OVER), "warning", "token 5 of sample 0")


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
    only(check(RULE, talk, talk, OVER), place="token 5 of sample 0")


def test_an_empty_answer_to_a_question_is_another_matter():
    end = part(7, 8, "assistant", trained=1, part="end")
    opening = part(5, 7, "assistant", trained=2, part="header")
    question = part(3, 5, "user")
    talk = sample(part(0, 1), part(1, 3, "assistant"), question, opening, end)
    only(check(RULE, talk, talk), reason="empty")


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


QUESTION = part(1, 3)
SILENT = sample(
    QUESTION, part(3, 5, "assistant"), part(5, 6, "assistant", part="end"), row=2
)
TRAINED = sample(
    QUESTION,
    part(3, 5, "assistant", trained=2),
    part(5, 6, "assistant", trained=1, part="end"),
)


def test_half_of_the_answers_are_not_found_by_their_marker():
    finding = only(check(RULE, TRAINED, SILENT, TRAINED, SILENT), "warning", samples=2)
    assert finding.place == Place("token", "3 of sample 2")


def test_a_smaller_part_may_be_left_out_on_purpose():
    only(check(RULE, *[TRAINED] * 3, SILENT, SILENT), "info")


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


FULL = row([BOS, *text(6), EOS], [-100] * 4 + [13, 14, 15, EOS])
EMPTY = row([BOS, *text(6, 20), EOS], [-100] * 7 + [EOS])
OPENING_ANSWERS = part(3, 5, "assistant", part="header")
END = part(5, 6, "assistant", trained=1, part="end")


def told_answers(*talks):
    run = run_of([FULL])
    detail = {"samples": [each.as_json() for each in talks]}
    run.append(Event("turns", 0, 0.0, "", detail))
    return Engine([RULE]).check(run).findings


def test_a_completion_is_its_end_alone():
    only(check_rows(RULE, [FULL, EMPTY]), "info", "token 7 of sample 1")


def test_an_answer_has_a_text():
    assert check_rows(RULE, [FULL]) == ()


def test_a_text_that_is_trained_whole_is_no_empty_answer():
    assert check_rows(RULE, [row([EOS, EOS])]) == ()


def test_a_control_token_that_ends_nothing_is_no_empty_answer():
    turn = row([BOS, *text(6), 3], [-100] * 7 + [3])
    assert check_rows(RULE, [FULL, turn]) == ()


def test_masked_words_are_no_answers():
    assert check_rows(RULE, [row([BOS, *text(6), EOS], [-100] * 7 + [15])]) == ()


def test_an_end_stands_directly_behind_the_opening_of_an_answer():
    (finding,) = told_answers(sample(part(1, 3), OPENING_ANSWERS, END, row=4))
    assert finding.place == Place("token", "5 of sample 4")
    assert finding.evidence["answers"] == 1


def test_an_end_that_is_not_trained_teaches_nothing():
    assert (
        told_answers(sample(OPENING_ANSWERS, part(5, 6, "assistant", part="end"))) == ()
    )


def test_an_end_behind_a_text_is_right():
    assert told_answers(sample(OPENING_ANSWERS, part(5, 6, "assistant"), END)) == ()


def test_a_question_may_be_empty():
    end = part(5, 6, trained=1, part="end")
    for before in (part(3, 5, part="header"), part(3, 5)):
        assert told_answers(sample(before, end)) == ()


def test_an_answer_may_have_no_opening_of_its_own():
    (finding,) = told_answers(sample(part(1, 3), part(3, 5, part="end"), END))
    assert finding.place == Place("token", "5 of sample 0")


def test_a_row_that_begins_behind_an_answer_has_no_empty_one():
    assert told_answers(sample(part(0, 5, "", part="added"), END)) == ()
    assert told_answers(sample(part(0, 5, ""), END)) == ()
    assert told_answers(sample(END, part(6, 8))) == ()


def test_an_end_may_be_written_twice():
    text, first = part(1, 3, "assistant"), part(3, 5, "assistant", part="end")
    assert told_answers(sample(text, first, END)) == ()


def test_what_nothing_is_known_of_may_be_a_text():
    opening = part(3, 4, "assistant", part="header")
    assert told_answers(sample(opening, END)) == ()
