"""What a real vocabulary makes of a template's control strings."""

from types import SimpleNamespace

import pytest
from tokenizers import AddedToken

from ftlab.probes.templates.borders import Controls
from ftlab.probes.templates.shape import Shape
from ftlab.probes.templates.spans import shape_for, source_of
from ftlab.probes.templates.vocabulary import Vocabulary
from tests.probes.templates import styles
from tests.probes.templates.vocabularies import SPECIAL, byte_level
from tests.probes.tokens.vocabularies import word_piece


@pytest.fixture(scope="module")
def shape():
    return shape_for(source_of(byte_level(), template=styles.MARKED))


def vocabulary(tokenizer):
    return Vocabulary(tokenizer, Controls(SPECIAL))


def test_ids_of_openings_and_ends_are_those_of_the_whole_text(shape):
    tokenizer = byte_level()
    found = vocabulary(tokenizer).ids(shape)
    opening = tokenizer.decode(found["opening_ids"]["assistant"])
    assert opening == shape.openings["assistant"] == "<|open|>assistant\n"
    close = tokenizer.convert_tokens_to_ids("<|close|>")
    assert found["end_ids"]["user"][0] == close
    assert found["last_end_ids"]["assistant"][0] == close


def test_without_offsets_no_ids_are_cut(shape):
    bare = SimpleNamespace(encode=byte_level().encode)
    found = vocabulary(bare).ids(shape)
    assert not any(any(ids) for kind in found.values() for ids in kind.values())
    assert not any(vocabulary(None).ids(shape)["opening_ids"].values())


def test_control_strings_that_the_vocabulary_lacks_are_several_tokens(shape):
    assert vocabulary(byte_level()).pieces(shape) == {"<|open|>": 1, "<|close|>": 1}
    broken = vocabulary(byte_level(controls=False)).pieces(shape)
    assert broken.keys() == {"<|open|>", "<|close|>"}
    assert min(broken.values()) > 1


@pytest.mark.parametrize("side", ["rstrip", "lstrip"])
def test_white_space_that_goes_with_a_token_is_known(shape, side):
    tokenizer = byte_level()
    assert vocabulary(tokenizer).swallowed(shape) == {}
    stripping = AddedToken("<|close|>", **{side: True}, normalized=False, special=True)
    tokenizer.add_special_tokens({"additional_special_tokens": [stripping]})
    behind = {"<|close|>": "\n"} if side == "rstrip" else {}
    assert vocabulary(tokenizer).swallowed(shape) == behind
    assert vocabulary(None).swallowed(shape) == {}


def test_a_setting_that_the_tokenizer_does_not_heed_takes_nothing(shape):
    tokenizer = byte_level()
    token = AddedToken("<|close|>", rstrip=True)
    idle = SimpleNamespace(added_tokens_decoder={7: token}, encode=tokenizer.encode)
    assert vocabulary(idle).swallowed(shape) == {}


def test_a_tokenizer_without_any_white_space_is_not_its_tokens_doing():
    tokenizer = word_piece()
    chatml = shape_for(source_of(tokenizer))
    assert vocabulary(tokenizer).swallowed(chatml) == {}


def test_stops_by_who_says_so(shape):
    tokenizer = byte_level()
    model = SimpleNamespace(
        config=SimpleNamespace(eos_token_id=[7, 8]),
        generation_config=SimpleNamespace(eos_token_id=True),
    )
    close = tokenizer.convert_tokens_to_ids("<|close|>")
    assert vocabulary(tokenizer).stops(shape, model) == {
        "template": (close,),
        "history": (close,),
        "tokenizer": (tokenizer.eos_token_id,),
        "config": (7, 8),
    }
    assert "template" not in vocabulary(byte_level(controls=False)).stops(shape, None)


def test_a_second_bos_is_told():
    adds = byte_level(bos=True)
    text = f"{adds.bos_token}Hi"
    assert vocabulary(adds).repeats_bos(text)
    assert not vocabulary(adds).repeats_bos("Hi")
    assert not vocabulary(byte_level()).repeats_bos("<s>Hi")
    assert not vocabulary(adds).repeats_bos("")


def test_a_tokenizer_that_fails_makes_nothing_known():
    def fails(*_, **__):
        raise ValueError

    broken = SimpleNamespace(encode=fails, bos_token_id=1, eos_token_id=2)
    shape = Shape(openings={"user": "<|open|>"}, last_ends={"assistant": "</s>"})
    assert vocabulary(broken).pieces(shape) == {}
    assert not vocabulary(broken).repeats_bos("<s>")
    assert vocabulary(broken).stops(shape, None) == {"tokenizer": (2,)}
