"""DAT027."""

from dataclasses import replace

from ftlab.probes.tokens.border_guesses import border_guesses
from ftlab.probes.tokens.sample_reading import samples_in
from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.records.sample_facts import SeenSamples
from ftlab.rules.data.prompt_miscounted import PromptMiscounted
from ftlab.rules.engine import Engine
from tests.rules.data.rows import (
    EOS,
    PAD,
    SPECIAL,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
)
from tests.runs import RunBuilder

RULE = PromptMiscounted()
CLOSE = [70, 71]


class TwoLetters:
    """A tokenizer whose tokens are two characters each."""

    def decode(self, ids):
        return "ab" * len(ids)


def padded(number, *, shift, close=CLOSE):
    """A row behind padding, whose mask ends ``shift`` of its padding too early."""
    gap = 1 + number % 3
    prompt = [*(10 + number * 3 + n for n in range(6 + number % 4)), *close]
    ids = [PAD] * gap + prompt + [200 + number + n for n in range(9)] + [EOS]
    border = gap + len(prompt) - shift * gap
    mask = [0] * gap + [1] * (len(ids) - gap)
    return row(ids, [-100] * border + ids[border:], mask)


def in_characters(number, *, close=CLOSE, factor=2):
    prompt = [*(10 + number * 3 + n for n in range(3 + number % 4)), *close]
    ids = prompt + [200 + number * 20 + n for n in range(20)] + [EOS]
    border = factor * len(prompt)
    return row(ids, [-100] * border + ids[border:])


def found(rows, tokenizer=None):
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
    return Engine([RULE]).check(builder.run).findings


def test_it_needs_samples():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_a_mask_that_ends_earlier_by_the_padding_is_found():
    (finding,) = found([padded(n, shift=1) for n in range(8)])
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "columns"
    assert finding.place == Place("token", "8 of sample 0")
    assert finding.evidence["right position"] == 9


def test_rows_behind_padding_whose_mask_is_right_are_fine():
    assert found([padded(n, shift=0) for n in range(8)]) == ()


def test_one_token_for_each_character_is_found():
    (finding,) = found([in_characters(n) for n in range(8)], TwoLetters())
    assert finding.evidence["reason"] == "characters"
    assert finding.place == Place("token", "5 of sample 0")
    assert finding.evidence["position"] == 10


def test_prompts_counted_in_tokens_are_fine():
    rows = [in_characters(n, factor=1) for n in range(8)]
    assert found(rows, TwoLetters()) == ()


def test_prompts_that_end_with_varied_tokens_cannot_be_told():
    rows = [in_characters(n, close=[60 + n, 80 + n]) for n in range(8)]
    assert found(rows, TwoLetters()) == ()


def test_one_length_for_all_is_a_constant():
    rows = [in_characters(4 * n) for n in range(8)]
    assert found(rows, TwoLetters()) == ()


def test_few_samples_say_nothing():
    assert found([in_characters(n) for n in range(5)], TwoLetters()) == ()


def test_some_samples_that_close_alike_are_not_enough():
    some = [in_characters(n) for n in range(6)]
    others = [in_characters(n, close=[60 + n, 80 + n]) for n in range(6, 10)]
    assert found([*some, *others], TwoLetters()) == ()
