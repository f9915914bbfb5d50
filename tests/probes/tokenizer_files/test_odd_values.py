"""Sizes and ids of configurations that are no numbers."""

from pathlib import Path

import pytest

from ftlab.probes.tokenizer_files.folder_files import FolderFiles
from ftlab.probes.tokenizer_files.odd_values import odd_values


def told(file, **config):
    return [each.words for each in odd_values(FolderFiles(Path(), (), {file: config}))]


@pytest.mark.parametrize("value", ["many", [1], 1e99, True, {}])
def test_a_size_that_is_no_number_is_named(value):
    (words,) = told("config.json", vocab_size=value)
    assert words == f"vocab_size is {value!r}, and should be a number"


@pytest.mark.parametrize("value", ["</s>", 2.0, [2, None], {"a": 1}])
def test_ids_that_are_no_numbers_are_named(value):
    (words,) = told("generation_config.json", eos_token_id=value)
    assert words.startswith(f"eos_token_id is {value!r}, and should be")


def test_the_language_models_part_is_looked_at():
    (words,) = told("config.json", text_config={"vocab_size": "x" * 99})
    assert "text_config" not in words
    assert len(words) < 90


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"vocab_size": 32000, "eos_token_id": [1, 2], "pad_token_id": None},
        {"eos_token_id": []},
        {"text_config": 7},
    ],
)
def test_nothing_is_said_of_what_is_in_order(config):
    assert told("config.json", **config) == []
