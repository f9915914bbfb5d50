"""Files that are broken, or made to break what reads them, are named."""

import os

import pytest

import ftlab
from ftlab.probes.tokenizers.fast_reader import FastReader
from ftlab.records.errors import BadValueError
from tests.session.tokenizer_folders import CONFIG, MAP, folder, said

__all__ = ["folder"]  # a fixture


@pytest.mark.parametrize("name", [CONFIG, MAP, "added_tokens.json", "tokenizer.json"])
@pytest.mark.parametrize(
    "content", [b"[]", b"\xff\xfe", b"", b"[" * 100_000, b" " * (9 * 2**20)]
)
def test_a_file_that_cannot_be_read_is_named(folder, name, content):
    (folder / name).write_bytes(content)
    view = ftlab.tokenizer_files(folder)
    assert not view.ok
    assert f"x {name}" in repr(view)
    assert said(folder, "as loaded").status == "not checked"
    assert view.table()["file"].tolist()[0] == name


def test_contents_that_transformers_refuses_are_told_in_its_words(folder):
    (folder / "tokenizer.json").write_text('{"model": {"type": "BPE"}}')
    found = said(folder, "as loaded")
    assert found.status == "not checked"
    assert found.words.startswith("transformers cannot load it: ")


def test_links_and_pipes_are_named(folder):
    (folder / "loop").symlink_to(folder / "loop")
    (folder / MAP).symlink_to(folder / MAP)
    (folder / "added_tokens.json").unlink(missing_ok=True)
    os.mkfifo(folder / "added_tokens.json")
    problems = {each.name for each in ftlab.tokenizer_files(folder).files.problems}
    assert problems == {MAP, "added_tokens.json"}
    with pytest.raises(BadValueError, match="is no folder"):
        ftlab.tokenizer_files(folder / "loop")


def test_a_tokenizer_that_raises_when_it_is_read_is_told(folder, monkeypatch):
    def raising(self):
        raise RuntimeError("no vocabulary")

    monkeypatch.setattr(FastReader, "vocabulary", raising)
    assert said(folder, "as loaded").words == (
        "what was loaded cannot be read: RuntimeError: no vocabulary"
    )
    assert said(folder, "chat template").status == "agrees"
