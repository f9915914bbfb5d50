"""What tokenizer.json says by itself, beside what transformers loads."""

import json

import pytest
from tokenizers import normalizers

from ftlab.probes.tokenizer_files.folder_files import read_folder
from ftlab.probes.tokenizer_files.lone_file import lone_file_agreements
from ftlab.probes.tokenizers.reader_of import reader_of
from tests.probes.tokenizer_files.told import files
from tests.probes.tokens.vocabularies import byte_level

END = {"content": "<end>", "id": 7}


def told(found, reader=None) -> dict:
    return {each.subject: each for each in lone_file_agreements(found, reader)}


def test_a_token_that_is_listed_twice_is_named():
    found = told(files(tokenizer__json={"added_tokens": [END, END | {"id": 9}]}))
    assert found["added twice"].status == "differs"
    assert found["added twice"].words == "'<end>' stands twice in tokenizer.json: 7, 9"
    assert told(files(tokenizer__json={"added_tokens": [END, END]})) == {}


@pytest.mark.parametrize(
    ("model", "lost"), [({"vocab": {"a": 0}}, True), ({"vocab": {"<new>": 8}}, False)]
)
def test_tokens_that_only_other_files_add_are_named(model, lost):
    own = {"added_tokens": [END], "model": model}
    found = told(files(tokenizer__json=own, added_tokens__json={"<new>": 8}))
    assert (found.get("added tokens of tokenizer.json") is not None) is lost
    if lost:
        words = found["added tokens of tokenizer.json"].words
        assert words.startswith("'<new>' (8): in added_tokens.json, and not in")


def test_files_that_list_nothing_are_not_compared():
    assert told(files(tokenizer__json={}, added_tokens__json={"<new>": 8})) == {}


@pytest.mark.parametrize("here", [True, False])
def test_a_flag_that_differs_is_noted(here):
    listed = {"added_tokens": [END | {"special": here}]}
    named = {"added_tokens_decoder": {"7": END | {"special": not here}}}
    found = told(files(tokenizer__json=listed, tokenizer_config__json=named))
    assert found["special flags"].status == "noted"
    place = "tokenizer.json, and" if here else "tokenizer_config.json, which"
    assert f"'<end>' is special in {place}" in found["special flags"].words
    named["added_tokens_decoder"]["7"]["special"] = here
    assert told(files(tokenizer__json=listed, tokenizer_config__json=named)) == {}


def test_truncation_and_padding_of_its_own_are_noted():
    cut = {"max_length": 512, "strategy": "LongestFirst"}
    found = told(files(tokenizer__json={"truncation": cut, "padding": None}))
    assert found["truncation"].status == "noted"
    assert "512" in found["truncation"].words
    assert "padding" not in found


def test_a_side_that_transformers_takes_from_there_is_told(tmp_path):
    tokenizer = byte_level()
    tokenizer.save_pretrained(tmp_path)
    own = json.loads((tmp_path / "tokenizer.json").read_text())
    pad = {"strategy": "BatchLongest", "direction": "Left", "pad_token": "x"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(own | {"padding": pad}))
    tokenizer.padding_side = "left"
    said = told(read_folder(tmp_path), reader_of(tokenizer))["padding"].words
    named = "padding_side" in (tmp_path / "tokenizer_config.json").read_text()
    assert said.endswith("transformers has padding_side 'left'") is not named


def test_stages_that_transformers_has_built_anew_are_noticed(tmp_path):
    tokenizer = byte_level()
    tokenizer.save_pretrained(tmp_path)
    assert "read alone" not in told(read_folder(tmp_path), reader_of(tokenizer))
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    found = told(read_folder(tmp_path), reader_of(tokenizer))["read alone"]
    assert found.status == "differs"
    assert "gives other ids in 4 of 5 texts" in found.words


def test_a_file_that_cannot_be_loaded_alone_is_not_compared(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    found = told(read_folder(tmp_path), reader_of(byte_level()))["read alone"]
    assert found.status == "not checked"
    assert found.words.startswith("tokenizer.json alone cannot be loaded: ")
