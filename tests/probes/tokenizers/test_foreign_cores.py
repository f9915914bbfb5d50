"""Cores of other libraries are known by what they have, and read alike."""

import pytest

from ftlab.probes.tokenizers.foreign_cores import (
    as_text,
    core_within,
    ids_of,
    library_of,
    model_of,
    pairs_of,
    settings_of,
    size_of,
    special_of,
    unknown_of,
)
from tests.probes.tokenizers.real import TEKKEN, HoldsTiktoken, mistral, slow_form

tiktoken = pytest.importorskip("tiktoken")

RANKS = {bytes([each]): each for each in range(256)} | {b"ab": 256}


def encoding(**changes):
    told = {"pat_str": r"\w+|\W+", "mergeable_ranks": RANKS}
    told |= {"special_tokens": {"<e>": 257}} | changes
    return tiktoken.Encoding("own", **told)


@pytest.fixture(scope="module")
def pieces():
    return mistral().tokenizer.instruct_tokenizer.tokenizer._model


def test_each_library_is_known(pieces):
    assert library_of(encoding()) == "tiktoken"
    assert library_of(pieces) == "sentencepiece"
    assert [library_of(each) for each in (None, "x", {}, mistral())] == [""] * 4


def test_the_core_of_a_tokenizer_is_found():
    held = HoldsTiktoken()
    assert core_within(held) is held.tokenizer
    made = slow_form()
    assert core_within(made) is made.sp_model
    assert core_within(3) == 3


def test_an_encoding_is_read_whole():
    core = encoding()
    pairs = dict(pairs_of(core))
    assert (pairs[97], pairs[255], pairs[256], pairs[257]) == ("a", "ÿ", "ab", "<e>")
    assert dict(pairs_of(core, shift=10))[107] == "a"
    assert (size_of(core), special_of(core)) == (258, {"257": ["<e>"]})
    assert ids_of(core, "ab<e>")[0] == 256
    assert 257 not in ids_of(core, "ab<e>")
    assert unknown_of(core) == frozenset()


def test_pattern_and_ranks_tell_encodings_apart():
    other = {k: v for k, v in RANKS.items() if k != b"ab"} | {b"ba": 256}
    assert model_of(encoding()) == model_of(encoding())
    assert model_of(encoding()) != model_of(encoding(mergeable_ranks=other))
    assert settings_of(encoding()) != settings_of(encoding(pat_str=r"\w+|\W"))


def test_a_model_of_sentencepiece_is_read_whole(pieces):
    pairs = dict(pairs_of(pieces))
    assert (pairs[0], pairs[1], len(pairs)) == ("<unk>", "<s>", size_of(pieces))
    assert unknown_of(pieces) == {0}
    assert special_of(pieces)["2"] == ["</s>"]
    assert settings_of(pieces) == {}
    assert ids_of(pieces, "Hello") == [23325]
    assert model_of(pieces) == pieces.serialized_model_proto()


def test_bytes_are_written_as_characters_of_their_numbers():
    assert (as_text(b"\xff"), as_text("ÿ")) == ("ÿ", "ÿ")


def test_a_vocabulary_of_tekken_is_shifted_behind_its_special_tokens():
    core = mistral(TEKKEN).tokenizer.instruct_tokenizer.tokenizer
    pairs = dict(pairs_of(core._model, core.num_special_tokens))
    for at in (1000, 5000, 100_000):
        assert pairs[at].encode("latin-1") == core.id_to_byte_piece(at)
