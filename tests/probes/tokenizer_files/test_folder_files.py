"""Files of all kinds are named, and none of them raises."""

import json
import os

import pytest

from ftlab.probes.tokenizer_files import folder_files
from ftlab.probes.tokenizer_files.folder_files import read_folder, revision_of
from tests.probes.tokens.vocabularies import byte_level

NAME = "special_tokens_map.json"


def problem_of(path, content: bytes, name: str = NAME) -> str:
    (path / name).write_bytes(content)
    (state,) = read_folder(path).states
    assert state.size == len(content)
    return state.problem


def test_what_save_pretrained_writes_is_read(tmp_path):
    byte_level().save_pretrained(tmp_path)
    found = read_folder(tmp_path)
    names = {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"}
    assert names <= {each.name for each in found.states}
    assert not any(each.problem for each in found.states)
    assert found.get("tokenizer_config.json")["eos_token"] == "<|im_end|>"
    assert found.values["chat_template.jinja"] == byte_level().chat_template
    assert found.get("config.json") == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[1, 2]", "JSON array, not an object"),
        (b'"text"', "JSON string, not an object"),
        (b"", "no JSON"),
        (b'{"a": ', "no JSON"),
        (b'{"a": "\xff"}', "no UTF-8: byte 7 is 0xff"),
        (b"[" * 200_000, "nested too deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", "Exceeds the limit"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_fault(tmp_path, content, words):
    assert words in problem_of(tmp_path, content)


def test_a_template_that_is_no_text_is_named(tmp_path):
    assert "no UTF-8" in problem_of(tmp_path, b"\xfe", "chat_template.jinja")


def test_a_file_of_50_mb_is_not_opened(tmp_path):
    with (tmp_path / NAME).open("wb") as file:
        file.truncate(50 * 2**20)
    (state,) = read_folder(tmp_path).states
    assert state.problem == "it has 50 MiB, more than 8 MiB"


def test_a_tokenizer_may_be_larger(tmp_path, monkeypatch):
    (tmp_path / "tokenizer.json").write_text(json.dumps({"x": "y" * 2000}))
    monkeypatch.setattr(folder_files, "LIMIT", 1000)
    (state,) = read_folder(tmp_path).states
    assert state.problem == ""


def test_vocabularies_are_named_and_not_opened(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(b"\xff" * 100)
    os.mkfifo(tmp_path / "vocab.json")
    found = read_folder(tmp_path)
    states = {each.name: (each.size, each.problem) for each in found.states}
    assert states["tokenizer.model"] == (100, "")
    assert states["vocab.json"] == (0, "it is no regular file")
    assert found.values == {}


def test_links_in_a_circle_and_links_to_nothing_are_named(tmp_path):
    (tmp_path / NAME).symlink_to(tmp_path / NAME)
    (tmp_path / "config.json").symlink_to(tmp_path / "gone")
    states = {each.name: each.problem for each in read_folder(tmp_path).states}
    assert "cannot be opened" in states[NAME]
    assert "No such file" in states["config.json"]


def test_what_is_no_regular_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / NAME)
    (tmp_path / "config.json").mkdir()
    problems = {each.problem for each in read_folder(tmp_path).states}
    assert problems == {"it is no regular file"}


def test_the_revision_of_a_download_is_read(tmp_path):
    snapshot = tmp_path / "snapshots" / ("ab" * 20)
    assert revision_of(snapshot / "config.json") == "ab" * 20
    kept = tmp_path / ".cache" / "huggingface" / "download"
    kept.mkdir(parents=True)
    word = kept / "config.json.metadata"
    word.write_text("cd" * 20 + "\n0123\n1700000000.0\n")
    assert revision_of(tmp_path / "config.json") == "cd" * 20
    assert revision_of(tmp_path / "tokenizer.json") == ""
    word.write_text("main\n")
    assert revision_of(tmp_path / "config.json") == ""
    word.write_bytes(b"\xff" * 10)
    assert revision_of(tmp_path / "config.json") == ""
