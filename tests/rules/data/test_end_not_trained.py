"""DAT020."""

import numpy as np
import pytest

from ftlab.probes.tokens.sample_reading import Columns
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.end_not_trained import EndNotTrained
from tests.rules.data.rows import (
    EOS,
    SPECIAL,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = EndNotTrained()
PAD_IS_EOS = SPECIAL | {"pad": {EOS}}


def untrained(length, **settings):
    ids = text(length, 10 + length)
    return row([*ids, EOS], [*ids, -100], **settings)


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


@pytest.mark.parametrize(
    ("special", "reason", "severity"),
    [(PAD_IS_EOS, "pad-is-eos", Severity.ERROR), (SPECIAL, "mask", Severity.WARNING)],
)
def test_the_end_behind_trained_text_is_never_trained(special, reason, severity):
    (finding,) = check(RULE, [untrained(4), untrained(6)], special=special)
    assert finding.severity is severity
    assert finding.place == Place("token", "4 of sample 0")
    assert Place("sample", "1") in finding.places
    assert finding.evidence["reason"] == reason


def test_one_end_that_is_trained_is_enough():
    assert check(RULE, [untrained(4), untrained(6), row([*text(5), EOS])]) == ()


def test_one_sample_proves_nothing_even_if_it_comes_again():
    assert check(RULE, [untrained(4), untrained(4)]) == ()


def test_two_answers_of_one_conversation_are_enough():
    talk = row([5, 6, EOS, 7, 8, EOS], [-100, 6, -100, -100, 8, -100])
    (finding,) = check(RULE, [talk])
    assert finding.place == Place("token", "5 of sample 0")
    assert "ends 1 sample but" in finding.message


def test_the_end_of_a_prompt_may_be_left_out():
    rows = [row([5, 6, EOS, 7, 8], [-100, -100, -100, 7, 8]) for _ in range(3)]
    assert check(RULE, rows) == ()


def test_masked_words_are_no_answers():
    rows = [row([103, 6, 103, EOS], [5, -100, n, -100]) for n in (7, 8, 9)]
    assert check(RULE, rows) == ()


def test_without_a_mask_padding_cannot_be_told_from_ends():
    rows = [
        Columns(np.r_[each.ids, [EOS] * 3], np.r_[each.labels, [-100] * 3])
        for each in (untrained(4), untrained(6))
    ]
    assert check(RULE, rows, special=PAD_IS_EOS) == ()


def test_ends_that_the_mask_hides_are_laid_on_the_mask():
    rows = [
        row([5, n, EOS, 7, 8, 9], [5, n, -100, 7, 8, 9], mask=[1, 1, 0, 1, 1, 1])
        for n in (6, 20)
    ]
    (finding,) = check(RULE, rows, special=PAD_IS_EOS)
    assert finding.evidence["reason"] == "hidden"
    assert "by length" in finding.fix
    assert "attention_mask == 0" not in finding.fix
    assert "DAT053" in RULE.caused_by
