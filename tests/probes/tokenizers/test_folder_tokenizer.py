"""Tokenizers and folders: which is loaded from which."""

from transformers import AutoTokenizer

from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.probes.tokenizers.folder_tokenizer import folder_print, loaded_from
from tests.probes.tokens.vocabularies import byte_level


def test_a_tokenizer_knows_the_folder_that_it_was_loaded_from(tmp_path, monkeypatch):
    byte_level().save_pretrained(tmp_path / "mine")
    assert loaded_from(byte_level()) is None
    loaded = AutoTokenizer.from_pretrained(tmp_path / "mine")
    assert loaded_from(loaded) == tmp_path / "mine"
    monkeypatch.chdir(tmp_path)
    loaded = AutoTokenizer.from_pretrained("mine")
    folder = loaded_from(loaded)
    monkeypatch.chdir("/")
    assert folder == tmp_path / "mine"


def test_a_folder_of_the_name_of_a_hubs_model_holds_no_tokenizer(tmp_path, monkeypatch):
    byte_level().save_pretrained(tmp_path / "mine")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "mine")
    loaded.name_or_path = str(tmp_path)
    assert loaded_from(loaded) is None
    monkeypatch.chdir(tmp_path / "mine")
    for other in (None, 3, ""):
        loaded.name_or_path = other
        assert loaded_from(loaded) is None


def test_the_fingerprint_of_a_folder_is_that_of_what_is_loaded(tmp_path):
    byte_level().save_pretrained(tmp_path)
    assert folder_print(tmp_path) == read_fingerprint(byte_level())
    (tmp_path / "tokenizer.json").write_text("{")
    assert folder_print(tmp_path) is None
