"""DAT017."""

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.first_tokens_left_out import FirstTokensLeftOut
from ftlab.rules.engine import Engine
from tests.rules.data.rows import (
    BOS,
    EOS,
    TURN,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    run_of,
    text,
)
from tests.rules.data.talks import part, sample

RULE = FirstTokensLeftOut()
CLOSE = [70, 71, 72]
SPACE = 73
PIECES = {
    70: "##",
    71: "Answer",
    72: "\u010a",
    SPACE: "\u0120",
    EOS: "</s>",
    **{80 + n: f"\u0120{chr(65 + n)}" for n in range(16)},
    **{100 + n: f"{chr(97 + n)}" for n in range(16)},
    **{120 + n: f"\u0120{chr(97 + n)}" for n in range(16)},
}


def asked(between, said, number, close=CLOSE):
    """A row whose labels begin behind what closes the prompt and some more."""
    prompt = [BOS, *text(4 + number % 3, number), *close, *between]
    ids = [*prompt, *said, 10, 11, EOS]
    return row(ids, [-100] * len(prompt) + ids[len(prompt) :])


def rows_of(between, said, count=8, close=CLOSE):
    return [asked(between(n), said(n), n, close) for n in range(count)]


def found(rows):
    return check(RULE, rows, pieces=PIECES)


def test_it_needs_samples():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_a_first_token_that_is_left_out_cuts_words():
    rows = rows_of(lambda n: [80 + n], lambda n: [100 + n])
    (finding,) = found(rows)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "8 of sample 0")
    assert finding.evidence["cut"] == 8


def test_two_tokens_may_be_left_out():
    rows = rows_of(lambda n: [120 + n, 80 + n], lambda n: [100 + n])
    (finding,) = found(rows)
    assert finding.place == Place("token", "8 of sample 0")
    assert finding.evidence["left_out"] == 2


def test_a_right_mask_begins_behind_what_closes_the_prompt():
    assert found(rows_of(lambda _: [], lambda n: [80 + n, 100 + n])) == ()
    assert found(rows_of(lambda _: [75], lambda n: [100 + n])) == ()


def test_prompts_that_close_in_many_ways_say_nothing():
    rows = [
        asked([80 + n], [100 + n], n, close=[70, 71, 72 + n % 2]) for n in range(16)
    ]
    assert found(rows) == ()


def test_few_samples_say_nothing():
    assert found(rows_of(lambda n: [80 + n], lambda n: [100 + n], count=7)) == ()


def test_words_of_many_kinds_at_the_end_of_prompts_are_a_note():
    rows = rows_of(lambda n: [80 + n], lambda n: [120 + n], count=12)
    (finding,) = found(rows)
    assert finding.severity is Severity.INFO
    assert finding.evidence["reason"] == "varies"


def test_classes_at_the_end_of_prompts_are_right():
    for begin in (100, 120):
        rows = rows_of(lambda n: [80 + n % 6], lambda n, a=begin: [a + n], count=12)
        assert found(rows) == ()


def test_a_vocabulary_says_where_words_begin_or_where_they_go_on():
    rows = rows_of(lambda n: [80 + n], lambda n: [100 + n])
    bare = {each: piece.strip("\u0120") for each, piece in PIECES.items()}
    assert check(RULE, rows, pieces=bare) == ()
    pieced = bare | {100 + n: "##ing" for n in range(8)}
    assert len(check(RULE, rows, pieces=pieced)) == 1


def test_numbers_at_the_end_of_prompts_are_right():
    rows = rows_of(lambda n: [80 + n], lambda n: [100 + n])
    numbers = PIECES | {80 + n: f"\u0120{n}" for n in range(8)}
    assert check(RULE, rows, pieces=numbers) == ()


def test_a_class_and_a_word_at_the_end_of_prompts_are_right():
    rows = rows_of(lambda n: [120 + n % 5, 80 + n], lambda n: [100 + n], count=12)
    assert found(rows) == ()


def test_one_control_token_closes_a_prompt():
    rows = [
        asked([80 + n], [100 + n], n, close=[30 + n, 40 + n, TURN]) for n in range(8)
    ]
    assert len(found(rows)) == 1


def test_a_control_token_that_is_left_out_is_of_the_prompt():
    special = {"pieces": PIECES, "special": {"control": {BOS, EOS, *range(80, 96)}}}
    rows = rows_of(lambda n: [80 + n], lambda n: [100 + n])
    assert check(RULE, rows, **special) == ()


def test_a_mark_that_opens_a_row_closes_no_prompt():
    ids = [[BOS, 80 + n, 100 + n, 10 + n, 11, EOS] for n in range(8)]
    assert found([row(each, [-100, -100, *each[2:]]) for each in ids]) == ()


def spaced(own, merged):
    rows = [asked([SPACE], [100 + n], n) for n in range(own)]
    return rows + [asked([], [120 + n], n) for n in range(own, own + merged)]


def test_spaces_of_prompts_go_together_with_answers():
    (finding,) = found(spaced(4, 4))
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "space-merged"
    assert finding.place == Place("token", "9 of sample 4")


@pytest.mark.parametrize(("own", "merged"), [(0, 8), (8, 0), (1, 7), (3, 3)])
def test_prompts_that_are_alike_have_lost_no_space(own, merged):
    assert found(spaced(own, merged)) == ()


def told(*openings):
    run = run_of([row([BOS, *text(6), EOS])])
    talks = [
        sample(each, part(5, 8, "assistant", trained=3), row=n)
        for n, each in enumerate(openings)
    ]
    detail = {"samples": [each.as_json() for each in talks]}
    run.append(Event("turns", 0, 0.0, "", detail))
    return Engine([RULE]).check(run).findings


def test_the_end_of_an_opening_is_trained():
    opening = part(2, 5, "assistant", trained=1, part="header")
    (finding,) = told(*[opening] * 4)
    assert finding.severity is Severity.INFO
    assert finding.place == Place("token", "4 of sample 0")


def test_openings_are_trained_whole_or_not_at_all():
    whole = part(2, 5, "assistant", trained=3, part="header")
    none = part(2, 5, "assistant", part="header")
    partly = part(2, 5, "assistant", trained=1, part="header")
    assert told(*[whole] * 4) == told(*[none] * 4) == ()
    assert told(*[partly] * 3) == told(*[partly] * 4, none) == ()
