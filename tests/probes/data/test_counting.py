"""Tokens are counted in blocks, and told row by row in their order."""

import pytest

from ftlab.probes.data import counting
from ftlab.probes.data.counting import Counting
from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.token_counts import TokenCounter
from tests.probes.tokens import vocabularies

ROWS = [
    parts_of({"prompt": f"{at}?" * (at + 1), "completion": "So."}) for at in range(9)
]


def counted(counter, rows=ROWS):
    told = []
    made = Counting(counter, lambda at, _, counts, __: told.append((at, counts)))
    for at, row in enumerate(rows):
        made.add(at, row)
    made.finish()
    made.close()
    return made, told


@pytest.mark.parametrize("block", [1, 4, 1000])
def test_every_row_is_told_once_and_in_order(monkeypatch, block):
    monkeypatch.setattr(counting, "BLOCK_ROWS", block)
    tokenizer = vocabularies.byte_level()
    _, told = counted(TokenCounter(tokenizer))
    expected = [
        (at, [len(tokenizer(p.text)["input_ids"]) for p in row.parts])
        for at, row in enumerate(ROWS)
    ]
    assert told == expected


def test_characters_are_counted_without_a_tokenizer():
    _, told = counted(None)
    assert told[2] == (2, [6, 3])


class Refusing(TokenCounter):
    def counts(self, texts):
        if any("5?" in text for text in texts):
            msg = "no fives"
            raise RuntimeError(msg)
        return super().counts(texts)


def test_a_text_that_the_tokenizer_refuses_takes_its_row_alone():
    made, told = counted(Refusing(vocabularies.byte_level()))
    assert [at for at, _ in told] == [0, 1, 2, 3, 4, 6, 7, 8]
    assert (made.refused, made.first_refused) == (1, (5, "RuntimeError: no fives"))


def test_halves_of_characters_are_counted_as_what_replaces_them():
    halves = [parts_of({"text": "cut \ud83d"})]
    made, told = counted(TokenCounter(vocabularies.byte_level()), halves)
    assert (made.refused, len(told)) == (0, 1)
