"""What is read of tokenizers of mistral-common, in a wrapper and bare."""

import pytest

from ftlab.probes.tokenizers.mistral_reader import MistralReader
from tests.probes.tokenizers.real import SENTENCEPIECE, TEKKEN, mistral

TEXT = "Größe 日本 fox"


def reader(name: str) -> MistralReader:
    wrapped = mistral(name)
    return MistralReader(wrapped, wrapped.tokenizer.instruct_tokenizer.tokenizer)


@pytest.mark.parametrize("name", [SENTENCEPIECE, TEKKEN])
def test_ids_and_pieces_are_its_own(name):
    found, wrapped = reader(name), mistral(name)
    assert found.ids(TEXT) == wrapped.encode(TEXT)
    ids, spans = found.encoded(TEXT)
    assert ids == wrapped.encode(TEXT, add_special_tokens=False)
    assert (found.decoded(ids), spans) == (TEXT, None)
    assert found.pieces(ids) == wrapped.convert_ids_to_tokens(ids)
    bare = MistralReader(wrapped.tokenizer, found.core)
    assert bare.ids(TEXT) == [wrapped.bos_token_id, *ids]


@pytest.mark.parametrize("name", [SENTENCEPIECE, TEKKEN])
def test_special_tokens_stand_among_the_pieces(name):
    found = reader(name)
    pairs = dict(found.vocabulary())
    assert found.size() == len(pairs) == mistral(name).vocab_size
    for at in mistral(name).all_special_ids:
        assert found.added_tokens()[str(at)] == [pairs[at], "special"]


def test_kind_version_and_mode_are_told():
    found = reader(TEKKEN).model()
    assert (found["type"], found["version"], found["mode"]) == (
        "Tekkenizer",
        "v3",
        "test",
    )
    assert "pattern" in found
    assert (reader(TEKKEN).writing, reader(SENTENCEPIECE).writing) == (
        "latin-1",
        "text",
    )


def test_unknown_ids_are_those_of_a_sentencepiece_model():
    assert reader(SENTENCEPIECE).unknown() == {0}
    assert reader(TEKKEN).unknown() == frozenset()
