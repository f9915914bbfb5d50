"""Files that change, and files that only look as if they had."""

import json
import os
import shutil

import pytest

from ftlab.probes.tokenizer_files.folder_stamps import FolderStamps
from tests.probes.tokens.vocabularies import byte_level


@pytest.fixture
def folder(tmp_path):
    byte_level().save_pretrained(tmp_path)
    (tmp_path / "special_tokens_map.json").unlink(missing_ok=True)  # transformers 4's
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


def test_a_folder_that_nobody_touches_has_not_changed(folder):
    assert FolderStamps(folder).changed() == {}


def test_content_that_is_edited_appears_or_goes_is_named(folder):
    stamps = FolderStamps(folder)
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / "special_tokens_map.json").write_text('{"pad_token": "a"}')
    (folder / "chat_template.jinja").unlink()
    changed = stamps.changed()
    assert list(changed) == [
        "tokenizer_config.json",
        "special_tokens_map.json",
        "chat_template.jinja",
    ]
    assert "eos_token" in changed["tokenizer_config.json"]
    assert changed["special_tokens_map.json"] == ("pad_token",)


def test_an_edit_that_keeps_size_and_time_is_seen_where_the_file_is_another(folder):
    file = folder / "chat_template.jinja"
    stamps, before = FolderStamps(folder), file.stat()
    (folder / "new").write_text("x" * before.st_size)
    os.utime(folder / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (folder / "new").replace(file)
    assert stamps.changed() == {"chat_template.jinja": ("",)}


def test_a_copy_of_the_same_content_is_no_change_and_is_read_once(folder, monkeypatch):
    stamps = FolderStamps(folder)
    shutil.copy(folder / "tokenizer.json", folder / "copy")
    (folder / "copy").replace(folder / "tokenizer.json")
    assert stamps.changed() == {}
    monkeypatch.setattr("ftlab.probes.tokenizer_files.folder_stamps._content", None)
    assert stamps.changed() == {}


def test_the_models_own_files_are_no_matter(folder):
    stamps = FolderStamps(folder)
    (folder / "config.json").write_text('{"vocab_size": 3}')
    assert stamps.changed() == {}


def test_what_is_no_file_or_no_folder_holds_nothing(tmp_path):
    stamps = FolderStamps(tmp_path / "gone")
    (tmp_path / "gone" / "tokenizer.json").mkdir(parents=True)
    os.mkfifo(tmp_path / "gone" / "vocab.json")  # whoever opens it waits for ever
    assert stamps.changed() == {}


def test_another_style_of_the_same_json_is_no_change(folder):
    stamps = FolderStamps(folder)
    told = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(told, indent=3))
    assert stamps.changed() == {}


def test_the_entries_of_a_model_are_told_apart(folder):
    stamps = FolderStamps(folder)
    told = json.loads((folder / "tokenizer.json").read_text())
    told["model"]["merges"].pop()
    (folder / "tokenizer.json").write_text(json.dumps(told))
    assert stamps.changed() == {"tokenizer.json": ("model.merges",)}


@pytest.mark.parametrize("content", ["[1]", "{", "[" * 100_000])
def test_what_is_no_json_object_is_told_as_a_whole(folder, content):
    stamps = FolderStamps(folder)
    (folder / "special_tokens_map.json").write_text(content)
    assert stamps.changed() == {"special_tokens_map.json": ("",)}
