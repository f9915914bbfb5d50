"""DAT023."""

from dataclasses import replace

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place
from ftlab.records.template import TemplateFacts
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.data.samples_cut import ALL, SamplesCut
from ftlab.rules.engine import Engine
from tests.rules.data.rows import BOS, EOS, TURN, check, row, run_of, text
from tests.runs import only

RULE = SamplesCut()
CUT = [row(text(12, begin)) for begin in (10, 20)]
SHORTER = [row([*text(n, 10 + n), EOS]) for n in (4, 6, 7)]


def test_the_longest_samples_lack_their_end():
    only(check(RULE, [*SHORTER, *CUT]), "warning", "token 11 of sample 3", length=12)


def test_few_among_many_are_usual():
    many = [row([*text(n % 5 + 3, n), EOS]) for n in range(10, 50)]
    only(check(RULE, [*many, *CUT]), "info")


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


SILENT = [row(text(12, n), [-100] * 12) for n in (10, 20)]


def test_rows_of_which_the_answer_was_cut_off_whole_have_no_label():
    finding = only(check(RULE, [*SHORTER, *SILENT]), "warning", "token 11 of sample 3")
    assert finding.evidence["unlabelled"] == 2
    (mixed,) = check(RULE, [*SHORTER, CUT[0], SILENT[1]])
    assert "2 of 5 samples" in mixed.message
    assert "1 of them no label" in mixed.message


def test_rows_without_a_label_that_are_not_cut_are_another_matter():
    ended = [row([*text(11, n), EOS], [-100] * 12) for n in (10, 20)]
    assert check(RULE, [*SHORTER, *ended]) == ()
    assert check(RULE, [*SHORTER, SILENT[0]]) == ()
    unlabelled = [row(text(12, n), None) for n in (10, 20)]
    assert check(RULE, [*SHORTER, *unlabelled]) == ()
    asked = [row([*text(n, 10 + n), EOS], [-100] * (n + 1)) for n in (4, 6, 7)]
    assert check(RULE, [*asked, *SILENT]) == ()


ENDS = TemplateFacts(
    openings={"user": "<u>"}, last_ends={"assistant": "</t>"}, stops={"template": (3,)}
)
ALIKE = [row(text(12, 10 + 10 * n)) for n in range(ALL)]


def cut_everywhere(rows, *, role="assistant", facts=ENDS, **args):
    run = run_of(rows, args=args)
    turns = (TurnFacts(2, 12, role, "text", 10, 2),)
    samples = [SampleTurns(n, 0, 0, 12, True, 10, turns).as_json() for n in range(2)]
    detail = {"samples": samples, "template": facts.as_json()}
    run.append(Event("turns", 0, 0.0, "", detail))
    return Engine([RULE]).check(run).findings


def test_answers_that_are_all_cut_at_the_limit_lack_what_their_template_writes():
    finding = only(cut_everywhere(ALIKE, max_length=12), "warning")
    assert "their template writes one" in finding.message
    assert finding.place == Place("token", "11 of sample 0")


@pytest.mark.parametrize(
    "given",
    [
        {"max_length": 13},
        {},
        {"max_length": 12, "packing": True},
        {"max_length": 12, "role": "user"},
        {"max_length": 12, "facts": replace(ENDS, stops={})},
    ],
)
def test_rows_of_one_length_may_be_whole(given):
    assert cut_everywhere(ALIKE, **given) == ()


def test_few_rows_of_the_limit_or_one_with_an_end_say_nothing():
    assert cut_everywhere(ALIKE[1:], max_length=12) == ()
    ended = row([*text(11, 70), EOS])
    assert cut_everywhere([*ALIKE, ended], max_length=12) == ()


def test_documents_of_a_packed_row_are_samples():
    ids = [*text(4), EOS, *text(12, 20), *text(12, 30), 5, EOS, 6, 7, EOS]
    positions = [*range(5), *range(12), *range(12), 0, 1, 0, 1, 2]
    only(check(RULE, [row(ids, positions=positions)]), place="token 16 of sample 0")


SHORTER_OFF = [row([BOS, *text(n, 10 + n)]) for n in (4, 6, 7)]


def wrapped(opening, *begins):
    return [
        row([*begin, *text(3, 10 + n), EOS, opening, *text(5 - len(begin), 20)])
        for n, begin in enumerate(begins)
    ]


def test_the_longest_samples_lack_the_beginning_of_the_others():
    finding = only(check(RULE, [*SHORTER_OFF, *CUT]), place="token 0 of sample 3")
    assert finding.evidence["reason"] == "truncated"


def test_one_long_sample_is_not_enough():
    assert check(RULE, [*SHORTER_OFF, CUT[0]]) == ()


def test_samples_that_begin_with_common_text_have_no_beginning_to_miss():
    shorter = [row(text(n, 10)) for n in (4, 6, 7)]
    assert check(RULE, [*shorter, *CUT]) == ()


def test_rows_of_one_length_begin_within_a_conversation():
    rows = wrapped(TURN, [5], [6], [TURN], [7])
    only(check(RULE, rows), "warning", "token 0 of sample 0", reason="wrapped")


def test_plain_documents_are_usually_wrapped():
    only(check(RULE, wrapped(BOS, [5], [6], [BOS], [7])), "info")


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
