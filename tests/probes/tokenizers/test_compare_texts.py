"""Two tokenizers over texts: counts are those of a dumber computation."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from ftlab.probes.tokenizers.compare_texts import Encoder, first_difference, moved
from ftlab.probes.tokenizers.reader_of import reader_of
from tests.probes.tokenizers.real import fast_form, mistral, slow_form
from tests.probes.tokens.vocabularies import (
    LINES,
    byte_fallback,
    byte_level,
    slow,
    unigram,
    word_piece,
)


def encoder(tokenizer, name="one") -> Encoder:
    return Encoder(name, reader_of(tokenizer))


def words(*known, unknown="[UNK]") -> PreTrainedTokenizerFast:
    inner = Tokenizer(
        models.WordLevel({k: i for i, k in enumerate((unknown, *known))}, unknown)
    )
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token=unknown)


@pytest.mark.parametrize(
    "make", [byte_level, byte_fallback, unigram, word_piece, slow, slow_form, fast_form]
)
def test_ids_are_those_that_the_tokenizer_gives(make):
    tokenizer = make()
    one = encoder(tokenizer)
    for text in LINES:
        expected = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert one.encode(text).ids == expected


def test_unknown_tokens_and_what_they_cover_are_counted():
    one = encoder(words("a", "cd"))
    one.encode("a bb cd")
    one.encode("eee")
    side = one.side()
    assert (side.tokens, side.unknown) == (4, 2)
    assert (side.characters, side.covered) == (8, 3)
    assert (side.words, side.whole) == (4, 2)


def test_bytes_of_a_fallback_are_not_unknown():
    one = encoder(byte_fallback())
    one.encode("ξένος")
    assert one.side().unknown == 0
    assert one.side().covered == 5


def test_a_tokenizer_that_tells_no_characters_covers_what_is_not_unknown():
    one = encoder(slow())
    one.encode("two words")
    assert one.side().covered == one.side().characters == 8


def test_texts_that_come_back_are_counted():
    one = encoder(words("a", "b"))
    one.encode("a b")
    one.encode("a  b")
    assert one.side().restored == 1


def test_what_is_put_around_a_text_is_told():
    mistral_side = encoder(mistral()).side()
    assert (mistral_side.before, mistral_side.behind) == (("<s>",), ())
    assert encoder(byte_level()).side().before == ()


def test_what_a_call_has_left_cuts_nothing():
    tokenizer = words("a", "b")
    tokenizer("a b a", truncation=True, max_length=1)
    one = encoder(tokenizer)
    assert one.encode("a b a").ids == [1, 2, 1]
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 1
    framed = slow_form()
    framed.build_inputs_with_special_tokens = lambda ids: [1, *ids, 2]
    assert encoder(framed).side().behind == ("</s>",)


def test_equal_tokenizers_have_no_difference():
    one, two = encoder(byte_level()), encoder(byte_level())
    assert [first_difference(0, t, one, two) for t in LINES] == [None] * len(LINES)
    found = moved(one, two)
    assert (found.count, found.left_only, found.right_only) == (0, 0, 0)


def test_the_first_difference_is_named_in_place():
    one, two = encoder(words("a", "b", "c")), encoder(words("a", "c", "b"))
    found = first_difference(3, "a a b c", one, two)
    assert (found.text, found.position, found.character) == (3, 2, 4)
    assert (found.left.piece, found.left.number) == ("b", 2)
    assert (found.right.piece, found.right.number) == ("b", 3)
    assert found.same_pieces
    assert found.near == "a a b c"
    ids = moved(one, two)
    assert (ids.count, ids.first) == (2, ((2, "b", "c"), (3, "c", "b")))


def test_a_text_that_goes_on_differs_at_its_end():
    one, two = encoder(words("a", "b")), encoder(words("a", unknown="b"))
    two.encode = lambda text: one.encode(text[:1])
    found = first_difference(0, "a b", one, two)
    assert found.right.number is None
    assert (found.left.piece, found.character) == ("b", 2)


def test_a_prefix_space_shows_at_the_first_word():
    old, new = encoder(fast_form(add_prefix_space=False)), encoder(slow_form())
    found = first_difference(0, "Hello there", old, new)
    assert (found.position, found.character) == (0, 0)
    assert (found.left.piece, found.right.piece) == ("Hello", " Hello")


def test_ids_of_one_side_only_are_counted():
    found = moved(encoder(words("a")), encoder(words("a", "b", "c")))
    assert (found.count, found.left_only, found.right_only) == (0, 0, 2)
