"""DAT017."""

from dataclasses import replace

import pytest

from ftlab.probes.tokens.border_guesses import border_guesses
from ftlab.probes.tokens.sample_reading import samples_in
from ftlab.records.event import Event
from ftlab.records.finding import Place
from ftlab.records.sample_facts import SeenSamples
from ftlab.rules.data.labels_begin_wrong import LabelsBeginWrong
from tests.rules.data.rows import BOS, EOS, PAD, SPECIAL, TURN, check, row, run_of, text
from tests.rules.data.talks import part, sample
from tests.runs import RunBuilder, found_by, only

RULE = LabelsBeginWrong()
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


def test_a_first_token_that_is_left_out_cuts_words():
    rows = rows_of(lambda n: [80 + n], lambda n: [100 + n])
    only(found(rows), "warning", "token 8 of sample 0", cut=8)


def test_two_tokens_may_be_left_out():
    rows = rows_of(lambda n: [120 + n, 80 + n], lambda n: [100 + n])
    only(found(rows), place="token 8 of sample 0", left_out=2)


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
    only(found(rows), "info", reason="varies")


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
    only(found(spaced(4, 4)), "warning", "token 9 of sample 4", reason="space-merged")


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
    return found_by(RULE, run)


def test_the_end_of_an_opening_is_trained():
    opening = part(2, 5, "assistant", trained=1, part="header")
    only(told(*[opening] * 4), "info", "token 4 of sample 0")


def test_openings_are_trained_whole_or_not_at_all():
    whole = part(2, 5, "assistant", trained=3, part="header")
    none = part(2, 5, "assistant", part="header")
    partly = part(2, 5, "assistant", trained=1, part="header")
    assert told(*[whole] * 4) == told(*[none] * 4) == ()
    assert told(*[partly] * 3) == told(*[partly] * 4, none) == ()


CLOSE_MISCOUNTED = [70, 71]


class TwoLetters:
    """A tokenizer whose tokens are two characters each."""

    def decode(self, ids):
        return "ab" * len(ids)


def padded(number, *, shift, close=CLOSE_MISCOUNTED):
    """A row behind padding, whose mask ends ``shift`` of its padding too early."""
    gap = 1 + number % 3
    prompt = [*(10 + number * 3 + n for n in range(6 + number % 4)), *close]
    ids = [PAD] * gap + prompt + [200 + number + n for n in range(9)] + [EOS]
    border = gap + len(prompt) - shift * gap
    mask = [0] * gap + [1] * (len(ids) - gap)
    return row(ids, [-100] * border + ids[border:], mask)


def in_characters(number, *, close=CLOSE_MISCOUNTED, factor=2):
    prompt = [*(10 + number * 3 + n for n in range(3 + number % 4)), *close]
    ids = prompt + [200 + number * 20 + n for n in range(20)] + [EOS]
    border = factor * len(prompt)
    return row(ids, [-100] * border + ids[border:])


def found_miscounted(rows, tokenizer=None):
    known = {kind: frozenset(ids) for kind, ids in SPECIAL.items()}
    samples = [
        replace(
            each, guesses=tuple(border_guesses(each, columns.ids, known, tokenizer))
        )
        for number, columns in enumerate(rows)
        for each in samples_in(columns, known, number, 0)
    ]
    builder = RunBuilder().facts(model={"class": "Llama"})
    builder.step(ops=[])
    seen = SeenSamples(0, tuple(samples), known, {})
    builder.run.append(Event("rows", 0, 0.0, "", seen.as_json()))
    return found_by(RULE, builder.run)


def test_a_mask_that_ends_earlier_by_the_padding_is_found():
    finding = only(found_miscounted([padded(n, shift=1) for n in range(8)]), "warning")
    assert finding.evidence["reason"] == "columns"
    assert finding.place == Place("token", "8 of sample 0")
    assert finding.evidence["right position"] == 9


def test_rows_behind_padding_whose_mask_is_right_are_fine():
    assert found_miscounted([padded(n, shift=0) for n in range(8)]) == ()


def test_one_token_for_each_character_is_found():
    (finding,) = found_miscounted([in_characters(n) for n in range(8)], TwoLetters())
    assert finding.evidence["reason"] == "characters"
    assert finding.place == Place("token", "5 of sample 0")
    assert finding.evidence["border"] == 10


def test_prompts_counted_in_tokens_are_fine():
    rows = [in_characters(n, factor=1) for n in range(8)]
    assert found_miscounted(rows, TwoLetters()) == ()


def test_prompts_that_end_with_varied_tokens_cannot_be_told():
    rows = [in_characters(n, close=[60 + n, 80 + n]) for n in range(8)]
    assert found_miscounted(rows, TwoLetters()) == ()


def test_one_length_for_all_is_a_constant():
    rows = [in_characters(4 * n) for n in range(8)]
    assert found_miscounted(rows, TwoLetters()) == ()


def test_few_samples_say_nothing_miscounted():
    assert found_miscounted([in_characters(n) for n in range(5)], TwoLetters()) == ()


def test_some_samples_that_close_alike_are_not_enough():
    some = [in_characters(n) for n in range(6)]
    others = [in_characters(n, close=[60 + n, 80 + n]) for n in range(6, 10)]
    assert found_miscounted([*some, *others], TwoLetters()) == ()
