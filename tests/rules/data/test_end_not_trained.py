"""DAT020."""

import numpy as np
import pytest

from ftlab.probes.tokens.sample_reading import Columns
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.end_not_trained import EndNotTrained
from ftlab.rules.engine import Engine
from tests.rules.data.rows import BOS, EOS, SPECIAL, TURN, check, row, run_of, text
from tests.runs import only

RULE = EndNotTrained()
PAD_IS_EOS = SPECIAL | {"pad": {EOS}}


def untrained(length, **settings):
    ids = text(length, 10 + length)
    return row([*ids, EOS], [*ids, -100], **settings)


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
    finding = only(check(RULE, [talk]), place="token 5 of sample 0")
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
    finding = only(check(RULE, rows, special=PAD_IS_EOS), reason="hidden")
    assert "by length" in finding.fix
    assert "attention_mask == 0" not in finding.fix


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


TOKENIZER = {"eos_token_id": EOS}
ENDLESS = [row([11, 12, *text(n, 10 + n)]) for n in (2, 4, 5, 7)]


def found(rows):
    return check(RULE, rows, tokenizer=TOKENIZER)


def test_no_sample_has_an_end():
    only(found(ENDLESS), "warning", "token 3 of sample 0", samples=4)


def test_paragraphs_that_begin_anyhow_are_information():
    only(found([row(text(n, 10 + n)) for n in (4, 6, 7, 9)]), "info")


def test_a_bos_is_no_opening_of_its_own():
    only(found([row([BOS, 11, *text(n, 12 + n)]) for n in (4, 6, 7, 9)]), "info")
    only(found([row([BOS, 11, 12, *text(n, 10 + n)]) for n in (4, 6, 7, 9)]), "warning")


def test_a_question_that_is_left_out_of_the_labels_tells_of_answers():
    rows = [
        row(text(n, 10 + n), [-100, -100, *text(n, 10 + n)[2:]]) for n in (4, 6, 7, 9)
    ]
    only(found(rows), "warning")


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


def test_masked_words_are_no_answers_end():
    rows = [row(text(n, 10 + n), text(n, 30)) for n in (4, 6, 7, 9)]
    assert found(rows) == ()
