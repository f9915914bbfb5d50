"""Vocabularies in unlike writings stand for the same bytes."""

import shutil

import pytest
from tokenizers import Tokenizer

from ftlab.probes.tokenizers.piece_bytes import vocabulary_bytes
from ftlab.probes.tokenizers.reader_of import reader_of
from tests.probes.tokenizers.real import TEKKEN, fast_form, file_of, mistral, slow_form
from tests.probes.tokens.vocabularies import byte_fallback, byte_level, slow


def test_a_tekken_file_stands_for_the_same_bytes_in_both_libraries(tmp_path):
    module = pytest.importorskip("transformers.integrations.mistral.tokenizer")
    shutil.copy(file_of(TEKKEN), tmp_path / "tekken.json")
    converted = module.MistralConverter(str(tmp_path / "tekken.json")).converted()
    fast = reader_of(converted)
    own = reader_of(mistral(TEKKEN))
    assert (fast.writing, own.writing) == ("byte-level", "latin-1")
    assert vocabulary_bytes(fast) == vocabulary_bytes(own)


def test_slow_and_fast_forms_stand_for_the_same_bytes():
    first = vocabulary_bytes(reader_of(slow_form()))
    assert first == vocabulary_bytes(reader_of(fast_form()))
    assert first == vocabulary_bytes(reader_of(mistral()))


@pytest.mark.parametrize("make", [byte_level, byte_fallback])
def test_they_are_what_decoding_gives(make):
    tokenizer = make()
    found = vocabulary_bytes(reader_of(tokenizer))
    for text in ("Größe 日本", "emoji 🙂"):
        ids = tokenizer(text)["input_ids"]
        joined = b"".join(found[each] for each in ids).decode()
        assert joined.lstrip() == text


def test_added_tokens_are_texts():
    tokenizer = byte_level()
    found = vocabulary_bytes(reader_of(tokenizer))
    assert found[tokenizer.eos_token_id] == b"<|im_end|>"
    assert vocabulary_bytes(reader_of(slow()))[256] == b"<|bos|>"


def test_an_added_token_is_no_piece_of_bytes():
    inner = Tokenizer.from_str(byte_level().backend_tokenizer.to_str())
    inner.add_tokens(["<né>"])
    found = vocabulary_bytes(reader_of(inner))
    assert found[inner.token_to_id("<né>")] == "<né>".encode()
