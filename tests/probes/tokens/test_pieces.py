"""What ids stand for, in every kind of vocabulary."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ftlab.probes.tokens.pieces import PieceBook, special_ids
from ftlab.records.template import TemplateFacts
from tests.probes.tokens import vocabularies

EXACT = [vocabularies.byte_level, vocabularies.byte_fallback, vocabularies.slow]
TEXT = " naïveté 日本語 🙂👩‍👩‍👧‍👦 مرحبا\n\tok"


def read(tokenizer, ids):
    book = PieceBook(tokenizer)
    book.look_up(set(ids))
    joined = book.joined(np.array(ids, np.int64))
    return book, [joined.get(at, book.pieces[i].text) for at, i in enumerate(ids)]


@pytest.mark.parametrize("vocabulary", EXACT)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
@settings(max_examples=40, deadline=None)
def test_the_texts_of_a_row_are_its_text(vocabulary, text):
    tokenizer = vocabulary()
    letter = tokenizer.encode("a", add_special_tokens=False)
    ids = tokenizer.encode("a" + text, add_special_tokens=False)
    _, words = read(tokenizer, ids)
    assert "".join(words).strip() == tokenizer.decode(ids).strip()
    assert letter


@pytest.mark.parametrize("vocabulary", [vocabularies.unigram, vocabularies.word_piece])
def test_words_keep_the_space_before_them(vocabulary):
    tokenizer = vocabulary()
    ids = tokenizer.encode("The quick brown fox", add_special_tokens=False)
    _, words = read(tokenizer, ids)
    assert "".join(words).strip() == "The quick brown fox"


@pytest.mark.parametrize("vocabulary", EXACT)
def test_a_character_of_several_tokens_stands_at_the_first(vocabulary):
    tokenizer = vocabulary()
    ids = tokenizer.encode(TEXT, add_special_tokens=False)
    book, words = read(tokenizer, ids)
    at = words.index("🙂") if "🙂" in words else words.index(" 🙂")
    assert "".join(words).strip() == TEXT.strip()
    if book.pieces[ids[at]].text != "🙂":
        assert words[at + 1] == ""


def test_broken_bytes_are_shown_and_take_nothing_from_their_neighbours():
    tokenizer = vocabularies.byte_level()
    ids = tokenizer.encode("🙂", add_special_tokens=False)
    cut = [*ids[:-1], *tokenizer.encode("ab", add_special_tokens=False)]
    _, words = read(tokenizer, cut)
    assert words[0] == "\ufffd"
    assert "".join(words[1:]) == "ab"


def test_special_tokens_are_told_apart():
    tokenizer = vocabularies.byte_level()
    facts = TemplateFacts(stops={"template": (tokenizer.eos_token_id,)})
    book = PieceBook(tokenizer, facts)
    start = tokenizer.convert_tokens_to_ids("<|im_start|>")
    book.look_up([start, tokenizer.eos_token_id, tokenizer.pad_token_id, 5])
    kinds = {book.pieces[i].piece: set(book.pieces[i].special) for i in book.pieces}
    assert kinds["<|im_start|>"] == {"control"}
    assert kinds["<|im_end|>"] == {"eos", "stop"}
    assert kinds["<|pad|>"] == {"pad"}
    assert not book.pieces[5].special
    assert special_ids(tokenizer)["bos"] == {tokenizer.bos_token_id}


@pytest.mark.parametrize("vocabulary", [*EXACT, vocabularies.unigram])
@pytest.mark.parametrize("odd", [999_999, -1, -77, 2**40])
def test_ids_outside_of_the_vocabulary_are_shown(vocabulary, odd):
    book, _ = read(vocabulary(), [5, odd])
    assert book.pieces[odd].piece == "?"
    assert book.pieces[odd].text == f"? id {odd} is not in the tokenizer"
    assert book.pieces[5].piece != "?"


def test_an_id_is_looked_up_once():
    class Counted:
        asked = 0

        def convert_ids_to_tokens(self, ids):
            Counted.asked += len(ids)
            return [f"t{each}" for each in ids]

        def decode(self, ids):
            return "".join(f"t{each}" for each in ids)

    book = PieceBook(Counted())
    book.look_up([1, 2])
    book.look_up([1, 2, 3])
    assert Counted.asked == 3
    assert book.pieces[3].text == "t3"


@pytest.mark.parametrize(
    "file", ["tekken_240911.json", "mistral_instruct_tokenizer_240323.model.v3"]
)
def test_tokenizers_of_mistral_are_read(file):
    pytest.importorskip("mistral_common")
    pytest.importorskip("tiktoken")
    if "model" in file:
        pytest.importorskip("sentencepiece")
    from pathlib import Path

    import mistral_common
    from transformers.tokenization_mistral_common import MistralCommonBackend

    path = Path(mistral_common.__file__).parent / "data" / file
    tokenizer = MistralCommonBackend(tokenizer_path=path)
    ids = tokenizer.encode(TEXT, add_special_tokens=False)
    book, words = read(tokenizer, [tokenizer.bos_token_id, *ids])
    assert "".join(words[1:]).strip() == TEXT.strip()
    assert book.pieces[tokenizer.bos_token_id].special == {"bos"}
