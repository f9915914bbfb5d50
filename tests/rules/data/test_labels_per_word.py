"""DAT052."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.labels_per_word import LabelsPerWord
from tests.rules.data.rows import (
    BOS,
    EOS,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = LabelsPerWord()
WORDS = [(5, 3), (7, 4), (6, 5), (9, 4)]
"""Pieces and words of some texts."""


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def rows(words=WORDS, first=0, behind=0, **marks):
    """Rows between two marks, with as many classes as words from ``first`` on."""
    made = []
    for pieces, count in words:
        ids = [marks.get("before", BOS), *text(pieces), EOS]
        classes = [-100] * first + [7 + n % 2 for n in range(count)]
        rest = len(ids) - len(classes)
        made.append(row(ids, classes + [-100] * (rest - behind) + [7] * behind))
    return made


def test_as_many_labels_as_words_are_found():
    (finding,) = check(RULE, rows())
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "0 of sample 0")
    assert finding.evidence["tokens left"] == 4


def test_labels_of_pieces_alone_stand_one_place_too_early():
    (finding,) = check(RULE, rows([(5, 5), (7, 7), (6, 6), (9, 9)]))
    assert "one place too early" in finding.cause
    assert finding.evidence["tokens left"] == 2


@pytest.mark.parametrize(
    "fine",
    [
        rows(first=1),
        rows(behind=1),
        rows([(5, 7), (7, 9), (6, 8), (9, 11)]),
        rows([(5, 6), (7, 8), (6, 7), (9, 10)]),
        rows([(5, 7), (7, 8), (6, 8), (9, 10)]),
        rows([(5, 3), (7, 5), (6, 4), (9, 7)]),
        rows(before=40),
        rows()[:3],
        [*rows(), *rows([(8, 4)], first=1)],
    ],
    ids=[
        "no BOS",
        "gap",
        "all",
        "last",
        "nearly all",
        "always two",
        "no mark",
        "few",
        "some",
    ],
)
def test_labels_of_tokens_are_fine(fine):
    assert check(RULE, fine) == ()


def test_prompts_that_are_trained_alone_are_tokens():
    made = []
    for pieces, count in WORDS:
        ids = [BOS, *text(pieces), EOS]
        made.append(row(ids, ids[:count] + [-100] * (len(ids) - count)))
    assert check(RULE, made) == ()
