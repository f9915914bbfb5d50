"""What each file says, however it is written, and nothing where it makes no sense."""

from pathlib import Path

import pytest

from ftlab.probes.tokenizer_files.folder_files import FolderFiles
from ftlab.probes.tokenizer_files.statements import (
    added_says,
    id_says,
    size_says,
    switch_says,
    template_says,
    token_says,
)

CONFIG, MAP = "tokenizer_config.json", "special_tokens_map.json"
STRANGE = [None, 3, [], {}, [[]], {"content": 3}, True, "x", [{"id": "a"}], {"é": {}}]


def files(**values) -> FolderFiles:
    named = {name.replace("__", "."): each for name, each in values.items()}
    return FolderFiles(Path(), (), named)


def test_tokens_are_read_as_texts_and_as_objects():
    found = files(
        tokenizer_config__json={"eos_token": {"content": "</s>", "lstrip": False}},
        special_tokens_map__json={"eos_token": "<e>", "pad_token": None},
    )
    assert token_says(found, "eos_token") == {CONFIG: "</s>", MAP: "<e>"}
    assert token_says(found, "pad_token") == {}


def test_ids_are_read_alone_in_lists_and_of_a_part_for_language():
    found = files(
        config__json={"text_config": {"eos_token_id": 2, "vocab_size": 9}},
        generation_config__json={"eos_token_id": [2, 5]},
    )
    assert id_says(found, "eos_token_id") == {
        "config.json": (2,),
        "generation_config.json": (2, 5),
    }
    assert size_says(found) == {"config.json": 9}


def test_added_tokens_are_read_from_all_three_files():
    found = files(
        tokenizer__json={"added_tokens": [{"id": 3, "content": "<a>"}]},
        tokenizer_config__json={"added_tokens_decoder": {"4": {"content": "<a>"}}},
        added_tokens__json={"<a>": 5},
    )
    assert list(added_says(found).values()) == [{"<a>": 3}, {"<a>": 4}, {"<a>": 5}]


def test_templates_are_read_from_all_three_files():
    found = files(
        chat_template__jinja="1",
        tokenizer_config__json={"chat_template": "2"},
        chat_template__json={"chat_template": "3"},
    )
    assert list(template_says(found).values()) == ["1", "2", "3"]


@pytest.mark.parametrize("value", STRANGE)
def test_what_makes_no_sense_is_left_out(value):
    names = ("eos_token_id", "added_tokens", "added_tokens_decoder", "vocab_size")
    odd = dict.fromkeys((*names, "text_config", "add_bos_token"), value)
    found = files(tokenizer__json=odd, tokenizer_config__json=odd, config__json=odd)
    ids = id_says(found, "eos_token_id")
    assert ids in ({}, {"config.json": (3,)})
    assert added_says(found) == {}
    assert size_says(found) in ({}, {"config.json": 3})
    assert switch_says(found, "add_bos_token") in (None, True)
