"""DAT053."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.ends_hidden import EndsHidden
from tests.rules.data.rows import (
    EOS,
    TURN,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = EndsHidden()


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def talk(begin, hidden=(), middle=(EOS,), behind=0):
    ids = [*text(4, begin), *middle, *text(3, begin), EOS, *[EOS] * behind]
    mask = [1] * (len(ids) - behind) + [0] * behind
    for place in hidden:
        mask[place] = 0
    return row(ids, mask=mask)


def test_ends_that_are_hidden_within_a_text_are_named():
    (finding,) = check(RULE, [talk(10, [4]), talk(20, [4], behind=2), talk(30)])
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "4 of sample 0")
    assert finding.evidence["samples"] == 2


def test_padding_behind_a_text_is_fine():
    assert check(RULE, [talk(at, behind=3) for at in (10, 20, 30)]) == ()


def test_padding_between_documents_is_fine():
    rows = [talk(at, [5, 6], middle=(EOS, EOS, EOS)) for at in (10, 20)]
    assert check(RULE, rows) == ()


def test_words_that_are_hidden_are_meant():
    assert check(RULE, [talk(at, [2]) for at in (10, 20)]) == ()
    assert check(RULE, [talk(at, [4], middle=(TURN,)) for at in (10, 20)]) == ()


def test_one_sample_proves_nothing():
    assert check(RULE, [talk(10, [4]), talk(20)]) == ()


def test_without_a_mask_nothing_is_hidden():
    assert check(RULE, [row(text(5, at), mask=None) for at in (10, 20)]) == ()
