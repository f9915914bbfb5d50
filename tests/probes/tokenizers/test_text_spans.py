"""Where tokens stand in a text, of tokenizers that do not tell it."""

import pytest

from ftlab.probes.tokenizers.piece_bytes import vocabulary_bytes
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.probes.tokenizers.text_spans import text_spans
from tests.probes.tokenizers.real import fast_form
from tests.probes.tokens.vocabularies import LINES


@pytest.mark.parametrize("text", [*LINES, "", " ", "  two  spaces ", "a\n\nb"])
def test_they_are_those_that_a_fast_tokenizer_tells(text):
    reader = reader_of(fast_form())
    pieces = vocabulary_bytes(reader)
    ids, told = reader.encoded(text)
    found = text_spans(text, [pieces[each] for each in ids])
    for (start, end), (a, b) in zip(found, told, strict=True):
        if end > start:  # a sign for the space before a text stands for nothing
            assert (start, end) == (a, b)
    assert sum(end > start for start, end in found) >= len(ids) - 1


def test_a_space_that_a_tokenizer_puts_in_front_stands_for_nothing():
    found = text_spans("Hello there", [b" Hello", b" there"])
    assert found == [(0, 5), (5, 11)]


def test_an_unknown_token_stands_for_what_its_neighbours_leave():
    found = text_spans("ab 日本 cd", [b"ab", None, b" cd"])
    assert found == [(0, 2), (2, 5), (5, 8)]
    assert text_spans("日本", [None]) == [(0, 2)]
    assert text_spans("日x", [None, b"x"]) == [(0, 1), (1, 2)]


def test_a_piece_that_is_not_in_the_text_stands_for_nothing():
    assert text_spans("abc", [b"zzz", b"abc"]) == [(0, 0), (0, 3)]


def test_bytes_of_one_character_stand_for_all_of_it():
    pieces = [bytes([each]) for each in "日".encode()]
    assert text_spans("a日b", [b"a", *pieces, b"b"]) == [
        (0, 1),
        (1, 2),
        (1, 2),
        (1, 2),
        (2, 3),
    ]
