"""DAT023."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.ends_cut_off import EndsCutOff
from tests.rules.data.rows import (
    EOS,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = EndsCutOff()
CUT = [row(text(12, begin)) for begin in (10, 20)]
SHORTER = [row([*text(n, 10 + n), EOS]) for n in (4, 6, 7)]


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_the_longest_samples_lack_their_end():
    (finding,) = check(RULE, [*SHORTER, *CUT])
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "11 of sample 3")
    assert finding.evidence["length"] == 12


def test_few_among_many_are_usual():
    many = [row([*text(n % 5 + 3, n), EOS]) for n in range(10, 50)]
    (finding,) = check(RULE, [*many, *CUT])
    assert finding.severity is Severity.INFO


def test_a_newline_may_stand_behind_the_end():
    long = [row([*text(10, begin), EOS, 9]) for begin in (10, 20)]
    assert check(RULE, [*SHORTER, *long]) == ()


def test_shorter_ones_without_an_end_say_that_none_is_wanted():
    assert check(RULE, [*(row(text(n, 10 + n)) for n in (4, 6, 7)), *CUT]) == ()


def test_one_long_sample_may_break_off_by_nature():
    assert check(RULE, [*SHORTER, CUT[0]]) == ()


def test_an_end_that_is_not_trained_teaches_nothing():
    untrained = [row(text(12, n), [*text(11, n), -100]) for n in (10, 20)]
    assert check(RULE, [*SHORTER, *untrained]) == ()


def test_documents_of_a_packed_row_are_samples():
    ids = [*text(4), EOS, *text(12, 20), *text(12, 30), 5, EOS, 6, 7, EOS]
    positions = [*range(5), *range(12), *range(12), 0, 1, 0, 1, 2]
    (finding,) = check(RULE, [row(ids, positions=positions)])
    assert finding.place == Place("token", "16 of sample 0")
