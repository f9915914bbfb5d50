"""DAT021."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.samples_without_end import SamplesWithoutEnd
from ftlab.rules.engine import Engine
from tests.rules.data.rows import (
    BOS,
    EOS,
    TURN,
    check,
    row,
    run_of,
    text,
)
from tests.runs import RunBuilder, healthy_lora

RULE = SamplesWithoutEnd()
TOKENIZER = {"eos_token_id": EOS}
ENDLESS = [row([11, 12, *text(n, 10 + n)]) for n in (2, 4, 5, 7)]


def found(rows):
    return check(RULE, rows, tokenizer=TOKENIZER)


def test_a_healthy_run_is_left_in_peace_and_an_empty_one_not_checked():
    assert Engine([RULE]).check(healthy_lora().run).findings == ()
    report = Engine([RULE]).check(RunBuilder().run)
    assert [each.code for each in report.not_checked] == [RULE.code]


def test_no_sample_has_an_end():
    (finding,) = found(ENDLESS)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "3 of sample 0")
    assert finding.evidence["samples"] == 4


def test_paragraphs_that_begin_anyhow_are_information():
    (finding,) = found([row(text(n, 10 + n)) for n in (4, 6, 7, 9)])
    assert finding.severity is Severity.INFO


def test_a_bos_is_no_opening_of_its_own():
    (finding,) = found([row([BOS, 11, *text(n, 12 + n)]) for n in (4, 6, 7, 9)])
    assert finding.severity is Severity.INFO
    (finding,) = found([row([BOS, 11, 12, *text(n, 10 + n)]) for n in (4, 6, 7, 9)])
    assert finding.severity is Severity.WARNING


def test_a_question_that_is_left_out_of_the_labels_tells_of_answers():
    rows = [
        row(text(n, 10 + n), [-100, -100, *text(n, 10 + n)[2:]]) for n in (4, 6, 7, 9)
    ]
    (finding,) = found(rows)
    assert finding.severity is Severity.WARNING


def test_without_a_tokenizer_it_is_left_out():
    report = Engine([RULE]).check(run_of(ENDLESS))
    assert (report.findings, report.not_checked) == ((), ())


def test_one_end_shows_that_there_are_some():
    assert found([*ENDLESS, row([*text(5), EOS])]) == ()


def test_an_end_in_the_middle_is_one():
    assert found([*ENDLESS, row([5, EOS, 6, 7, 8, 9, 10])]) == ()


def test_another_control_token_may_be_the_end():
    assert found([*ENDLESS, row([*text(5), TURN, 9])]) == ()


def test_blocks_of_one_length_have_rightly_no_end():
    assert found([row(text(8, begin)) for begin in range(10, 18)]) == ()


def test_three_samples_are_too_few():
    assert found(ENDLESS[:3]) == ()


def test_a_last_token_that_is_not_trained_proves_nothing():
    assert found([*ENDLESS, row([5, 6, 7, 8, 9], [5, 6, 7, 8, -100])]) == ()


def test_masked_words_are_no_answers():
    rows = [row(text(n, 10 + n), text(n, 30)) for n in (4, 6, 7, 9)]
    assert found(rows) == ()
