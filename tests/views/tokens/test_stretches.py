"""Rows of one conversation are cut into stretches that go together."""

import numpy as np

from ftlab.records.token_row import Piece, TokenBatch, TokenRow, Turn
from ftlab.views.tokens.stretches import stretches_of
from ftlab.views.tokens.tokens_summary import summarise_tokens
from tests.views.tokens.test_side_by_side import PIECES, three, turns


def stretches(*rows):
    return stretches_of(summarise_tokens(TokenBatch(rows, PIECES)))


def test_a_stretch_that_some_rows_lack_stands_at_its_place():
    longer, shorter = three()["a"], TokenRow(np.array([0, 1]), turns=turns(1, 2))
    for rows in ((longer, shorter), (shorter, longer)):
        found = stretches(*rows)
        assert [what for what, _ in found] == [
            *("user 0, header", "user 0, text", "assistant 1, header"),
            *("assistant 1, text", "assistant 1, end"),
        ]
        assert {None, "Yes"} == set(dict(found)["assistant 1, text"])


def test_what_stands_between_turns_and_behind_the_last_is_kept():
    row = TokenRow(np.array([6, 0, 1, 4]), turns=turns(2, 3))
    found = dict(stretches(row))
    assert found["user 0, header"] == ("<script><u>",)
    assert found["after the last turn"] == ("</s>",)


def test_rows_without_turns_have_no_stretches():
    assert stretches(TokenRow(np.array([0, 1]))) == ()


def test_an_emoji_of_several_tokens_is_whole():
    parts = {0: "👩", 1: "\u200d", 2: "👧", 3: "Ã", 4: "¤"}
    pieces = {at: Piece(part, part) for at, part in parts.items()}
    turn = (Turn(0, 5, "user", 0, "text"),)
    row = TokenRow(np.arange(5), turns=turn, texts={3: "ä", 4: ""})
    found = stretches_of(summarise_tokens(TokenBatch((row,), pieces)))
    assert found == (("user 0, text", ("👩\u200d👧ä",)),)
