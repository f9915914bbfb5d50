"""DAT022."""

from dataclasses import replace

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place
from ftlab.rules.data.beginning_wrong import SAMPLES, BeginningWrong
from ftlab.rules.engine import Engine
from tests.rules.data.rows import BOS, EOS, SPECIAL, TURN, check, row, run_of, text
from tests.rules.data.talks import FACTS, part, sample
from tests.runs import only

RULE = BeginningWrong()
TWICE = replace(FACTS, repeats_bos=True)
OPENED = sample(part(0, 2, part="header"), part(2, 4))
CUT = sample(part(0, 4), part(4, 6, part="end"))
ROWS = [row([*text(6, n), EOS]) for n in (20, 30)]


def found(talks, rows=ROWS, facts=TWICE, special=SPECIAL):
    run = run_of(rows, special=special)
    talks = [replace(each, row=n) for n, each in enumerate(talks)]
    detail = {
        "samples": [each.as_json() for each in talks],
        "template": facts.as_json(),
    }
    run.append(Event("turns", 0, 0.0, "", detail))
    return Engine([RULE]).check(run).findings


def test_conversations_begin_with_an_opening_and_no_bos():
    only(found([OPENED] * 4), "warning", "token 0 of sample 0")


def test_a_template_that_writes_no_bos_wants_none():
    assert found([OPENED] * 4, facts=FACTS) == ()


def test_one_bos_anywhere_says_that_rows_were_cut():
    for ids in ([BOS, *text(6)], [*text(4), BOS, *text(3)]):
        assert found([OPENED] * 4, rows=[*ROWS, row(ids)]) == ()


def test_rows_that_begin_within_a_text_were_cut():
    assert found([OPENED] * 4 + [CUT]) == ()
    assert len(found([OPENED] * 9 + [CUT])) == 1


def test_few_samples_say_nothing():
    assert found([OPENED] * 3) == ()


def test_an_opening_behind_something_else_is_no_beginning():
    late = sample(part(1, 2, part="header"), part(2, 4))
    assert found([late] * 4) == ()


def test_a_tokenizer_without_bos_has_none_to_miss():
    known = {kind: ids for kind, ids in SPECIAL.items() if kind != "bos"}
    assert found([OPENED] * 4, special=known) == ()


DOUBLE = [row([BOS, BOS, *text(n, 10 + n)]) for n in (4, 6)]


def test_samples_begin_twice():
    only(check(RULE, DOUBLE), "warning", "token 1 of sample 0")


def test_padding_in_front_is_no_beginning():
    padded = [
        row([0, 0, BOS, BOS, 5, 6 + n], mask=[0, 0, 1, 1, 1, 1]) for n in range(2)
    ]
    only(check(RULE, padded), place="token 3 of sample 0")


def test_one_bos_is_right_and_two_in_the_middle_are_nothing():
    assert check(RULE, [row([BOS, 5, n]) for n in range(10, 14)]) == ()
    assert check(RULE, [row([5, BOS, BOS, n]) for n in range(10, 14)]) == ()


def test_less_than_half_of_the_samples_is_chance():
    assert check(RULE, [*DOUBLE, *(row([BOS, 5, n]) for n in range(10, 13))]) == ()


def test_where_bos_is_eos_an_empty_document_looks_the_same():
    only(check(RULE, DOUBLE, special=SPECIAL | {"stop": {BOS}}), "info")


def answered(begin, *, behind=(BOS,), count=SAMPLES, skipped=0):
    """Samples whose prompt is not trained, with something where the answer begins."""
    prompt = [BOS, *text(5, begin)]
    ids = [*prompt, *behind, *text(4, begin + 30)]
    labels = [-100] * (len(prompt) + skipped) + ids[len(prompt) + skipped :]
    return [row(ids[: -n or None], labels[: -n or None]) for n in range(count)]


@pytest.mark.parametrize("skipped", [0, 1])
def test_a_second_bos_where_the_answer_begins(skipped):
    finding = only(check(RULE, answered(10, skipped=skipped)), "warning")
    assert finding.place == Place("token", "6 of sample 0")
    assert finding.evidence["reason"] == "before-answers"


@pytest.mark.parametrize(
    "settings",
    [
        {"behind": (EOS, BOS)},
        {"behind": (BOS, BOS)},
        {"behind": (TURN,)},
        {"count": SAMPLES - 1},
        {"skipped": 3},
    ],
)
def test_other_texts_behind_a_prompt_are_healthy(settings):
    assert check(RULE, answered(10, **settings)) == ()


def test_bos_between_documents_that_are_trained_whole_is_healthy():
    whole = [row([BOS, *text(5, n), BOS, *text(4, n)]) for n in range(10, 20)]
    assert check(RULE, whole) == ()
    positions = [*range(6), *range(5)]
    packed = [
        row([BOS, *text(5, n), BOS, *text(4, n)], None, None, positions)
        for n in range(9)
    ]
    assert compared(packed) == ()


def compared(rows):
    run = run_of(rows)
    run.append(Event("pairs", 0, 0.0, "", {"forms": []}))
    return Engine([RULE]).check(run).findings


def test_pairs_of_answers_have_no_labels_that_tell_where_they_begin():
    ids = [[BOS, *text(5, n), BOS, *text(4, 3 * n)] for n in range(10, 18)]
    only(compared([row(each, None) for each in ids]), place="token 6 of sample 0")
    turns = [[*each[:5], EOS, *each[6:]] for each in ids]
    assert compared([row(each, None) for each in turns]) == ()


def doubled(number, length=6):
    prompt = text(length, number)
    return row([BOS, *prompt, *prompt, 7, number])


def plain(number):
    return row([BOS, *text(9, number)])


DOUBLED = [doubled(n) for n in range(10, 18)]


def test_prompts_stand_twice():
    finding = only(check(RULE, DOUBLED), "warning", "token 7 of sample 0")
    assert finding.evidence["samples"] == finding.evidence["all"] == 8


def test_some_rows_may_begin_twice():
    assert check(RULE, [*DOUBLED, plain(30), plain(31)]) == ()
    assert check(RULE, DOUBLED[:3]) == ()


def test_control_tokens_are_not_quoted():
    marked = [[TURN, *text(5, n), TURN] for n in range(10, 15)]
    rows = [row([BOS, *each, *each, 7, 8]) for each in marked]
    only(check(RULE, [*rows, plain(30), plain(31)]), threshold=0.5)


def spaced(number, second):
    prompt = text(5, number)
    return row([BOS, 5, *prompt, *second, *prompt, 9, 8])


def test_a_space_in_front_makes_another_token_of_a_word():
    pieces = {5: "User", 6: "\u0120User", 7: "\u0120U", 8: "ser"}
    for second in ([6], [7, 8]):
        rows = [spaced(n, second) for n in range(10, 15)]
        assert check(RULE, rows, pieces=pieces)
        assert check(RULE, rows) == ()


def test_an_answer_that_quotes_a_question_has_no_role_in_front():
    pieces = {5: "User", 6: "Bot"}
    rows = [spaced(n, [6]) for n in range(10, 15)]
    assert check(RULE, rows, pieces=pieces) == ()
