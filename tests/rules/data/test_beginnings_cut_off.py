"""DAT024."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.beginnings_cut_off import BeginningsCutOff
from tests.rules.data.rows import (
    BOS,
    EOS,
    TURN,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = BeginningsCutOff()
CUT = [row(text(12, begin)) for begin in (10, 20)]
SHORTER = [row([BOS, *text(n, 10 + n)]) for n in (4, 6, 7)]


def wrapped(opening, *begins):
    return [
        row([*begin, *text(3, 10 + n), EOS, opening, *text(5 - len(begin), 20)])
        for n, begin in enumerate(begins)
    ]


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_the_longest_samples_lack_the_beginning_of_the_others():
    (finding,) = check(RULE, [*SHORTER, *CUT])
    assert finding.place == Place("token", "0 of sample 3")
    assert finding.evidence["reason"] == "truncated"


def test_one_long_sample_is_not_enough():
    assert check(RULE, [*SHORTER, CUT[0]]) == ()


def test_samples_that_begin_with_common_text_have_no_beginning_to_miss():
    shorter = [row(text(n, 10)) for n in (4, 6, 7)]
    assert check(RULE, [*shorter, *CUT]) == ()


def test_rows_of_one_length_begin_within_a_conversation():
    rows = wrapped(TURN, [5], [6], [TURN], [7])
    (finding,) = check(RULE, rows)
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "wrapped"
    assert finding.place == Place("token", "0 of sample 0")


def test_plain_documents_are_usually_wrapped():
    (finding,) = check(RULE, wrapped(BOS, [5], [6], [BOS], [7]))
    assert finding.severity is Severity.INFO


def test_rows_that_begin_where_documents_do_are_right():
    assert check(RULE, wrapped(TURN, *[[TURN]] * 4)) == ()


def test_text_behind_an_end_is_no_document():
    assert check(RULE, wrapped(9, [5], [6], [7], [8])) == ()


def test_ends_with_text_behind_them_are_none():
    rows = [*wrapped(TURN, [5], [6], [7]), *wrapped(9, [5], [6], [7])]
    assert check(RULE, rows) == ()


def test_masked_words_are_no_documents():
    rows = [
        row(each.ids, [n, *[-100] * (len(each.ids) - 1)])
        for n, each in enumerate(wrapped(TURN, [5], [6], [TURN], [7]), 40)
    ]
    assert check(RULE, rows) == ()
