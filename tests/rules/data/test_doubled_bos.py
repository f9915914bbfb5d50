"""DAT022."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.doubled_bos import DoubledBos
from tests.rules.data.rows import (
    BOS,
    SPECIAL,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = DoubledBos()
DOUBLE = [row([BOS, BOS, *text(n, 10 + n)]) for n in (4, 6)]


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_samples_begin_twice():
    (finding,) = check(RULE, DOUBLE)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "1 of sample 0")


def test_padding_in_front_is_no_beginning():
    padded = [
        row([0, 0, BOS, BOS, 5, 6 + n], mask=[0, 0, 1, 1, 1, 1]) for n in range(2)
    ]
    (finding,) = check(RULE, padded)
    assert finding.place == Place("token", "3 of sample 0")


def test_one_bos_is_right_and_two_in_the_middle_are_nothing():
    assert check(RULE, [row([BOS, 5, n]) for n in range(10, 14)]) == ()
    assert check(RULE, [row([5, BOS, BOS, n]) for n in range(10, 14)]) == ()


def test_less_than_half_of_the_samples_is_chance():
    assert check(RULE, [*DOUBLE, *(row([BOS, 5, n]) for n in range(10, 13))]) == ()


def test_where_bos_is_eos_an_empty_document_looks_the_same():
    (finding,) = check(RULE, DOUBLE, special=SPECIAL | {"stop": {BOS}})
    assert finding.severity is Severity.INFO
