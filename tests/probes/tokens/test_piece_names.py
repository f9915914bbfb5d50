"""Pieces of ids, of whatever tokenizer."""

from types import SimpleNamespace

import pytest

from ftlab.faults.builders.chats import tokenizer
from ftlab.probes.tokens.piece_names import piece_names


def test_a_processor_s_tokenizer_names_pieces():
    made = tokenizer()
    number = made.convert_tokens_to_ids("</turn>")
    processor = SimpleNamespace(tokenizer=made)
    assert piece_names(processor, [number]) == {number: "</turn>"}


def test_ids_that_nothing_stands_for_are_left_out():
    assert piece_names(tokenizer(), [10**6]) == {}


@pytest.mark.parametrize("made", [None, object(), SimpleNamespace(tokenizer=None)])
def test_what_names_nothing_costs_nothing(made):
    assert piece_names(made, [1, 2]) == {}


def test_a_tokenizer_that_raises_costs_nothing():
    def convert(ids):
        raise RuntimeError(ids)

    assert piece_names(SimpleNamespace(convert_ids_to_tokens=convert), [1]) == {}
