"""What every tokenizer is asked: special tokens, sides and switches."""

from types import SimpleNamespace

import pytest
from tokenizers import AddedToken

from ftlab.probes.tokenizers.python_reader import PythonReader
from ftlab.probes.tokenizers.reader import Reader, flags_of
from tests.probes.tokens.vocabularies import byte_level, slow


def small(tokenizer) -> dict:
    return PythonReader(tokenizer, tokenizer).small()


def test_special_tokens_are_named_with_their_ids():
    made = slow()
    found = small(made)["special tokens"]
    assert (found["eos_token"], found["eos_token_id"]) == ("<|im_end|>", 257)
    assert found["extra"] == ["<|im_start|>"]


def test_several_ids_of_one_kind_are_all_told():
    made = SimpleNamespace(special_tokens_map={}, eos_token_id=[3, 2])
    assert small(made)["special tokens"] == {"eos_token_id": [2, 3]}


def test_sides_and_switches_are_those_that_are_set():
    made = SimpleNamespace(
        padding_side="left", model_max_length=512, legacy=True, add_bos_token=None
    )
    found = small(made)
    assert found["padding and truncation"] == {
        "padding_side": "left",
        "model_max_length": 512,
    }
    assert found["switches"] == {"legacy": True}


def test_templates_are_told_by_name():
    assert small(byte_level())["chat template"] == {
        "default": byte_level().chat_template
    }
    several = SimpleNamespace(chat_template={"default": "1", "tool_use": "2"})
    assert small(several)["chat template"] == {"default": "1", "tool_use": "2"}
    assert "chat template" not in small(SimpleNamespace(chat_template=None))


def test_flags_of_added_tokens_are_told():
    plain = AddedToken("<a>", normalized=False)
    eager = AddedToken("<b>", rstrip=True, special=True, normalized=False)
    assert flags_of({7: eager, 3: plain}) == {
        "3": ["<a>"],
        "7": ["<b>", "special", "rstrip"],
    }


def test_each_kind_says_by_itself_what_it_reads():
    for ask in ("model", "vocabulary"):
        with pytest.raises(NotImplementedError):
            getattr(Reader(None, None), ask)()
