"""What is read of the library ``tokenizers``, held against tokenizer.json."""

import json

import pytest

from ftlab.probes.tokenizers.fast_reader import FastReader
from tests.probes.tokens.vocabularies import (
    byte_fallback,
    byte_level,
    unigram,
    word_piece,
)

MAKE = [byte_level, byte_fallback, unigram, word_piece]


def reader(tokenizer) -> FastReader:
    return FastReader(tokenizer, tokenizer.backend_tokenizer)


def written(tokenizer) -> dict:
    return json.loads(tokenizer.backend_tokenizer.to_str())


@pytest.mark.parametrize("make", MAKE)
def test_stages_are_those_of_the_file(make):
    made = make()
    names = {
        "normaliser": "normalizer",
        "pre-tokeniser": "pre_tokenizer",
        "decoder": "decoder",
        "post-processor": "post_processor",
    }
    told = written(made)
    stages = {name: told[key] for name, key in names.items() if told[key]}
    assert reader(made).pipeline() == stages


@pytest.mark.parametrize("make", MAKE)
def test_merges_and_scores_are_those_of_the_file(make):
    model = written(make())["model"]
    state = reader(make()).merges()
    if model["type"] == "WordPiece":
        assert state == b""
    elif model["type"] == "Unigram":
        scores, _ = json.JSONDecoder().raw_decode(state.decode())
        assert scores == model["vocab"]
    else:
        merges = json.loads(state.removesuffix(b"}"))
        assert merges == model["merges"]


@pytest.mark.parametrize("make", MAKE)
def test_settings_of_the_model_are_those_of_the_file(make):
    told = written(make())["model"]
    found = reader(make()).model()
    assert found["type"] == told["type"]
    same = {name: told[name] for name in found.keys() & told.keys()}
    assert same == {name: found[name] for name in same}
    assert len(same) >= 2 or told["type"] == "Unigram"


@pytest.mark.parametrize("make", MAKE)
def test_ids_are_those_of_a_call(make):
    made = make()
    made("a b c", truncation=True, max_length=1)
    found = reader(made)
    text = "Größe 日本 fox"
    assert len(found.ids_as_left(text)[1]) == 1
    ids, spans = found.encoded(text)
    assert ids == made(text, add_special_tokens=False)["input_ids"]
    assert found.ids(text) == made(text)["input_ids"]
    assert len(spans) == len(ids)
    assert made.backend_tokenizer.truncation is None


def test_unknown_ids_are_those_of_the_model():
    assert reader(word_piece()).unknown() == {word_piece().unk_token_id}
    assert reader(byte_level()).unknown() == frozenset()


def test_pieces_and_size_are_those_of_the_vocabulary():
    made = byte_level()
    found = reader(made)
    pairs = dict(found.vocabulary())
    assert found.size() == len(made) == len(pairs)
    assert found.pieces([5, 300]) == [pairs[5], pairs[300]]
    assert (found.writing, reader(unigram()).writing) == ("byte-level", "text")
