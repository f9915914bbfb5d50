"""Tokenizers as a user names them."""

import contextlib

import pytest

from ftlab.probes.tokenizers import kept_print
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.records.errors import BadValueError
from ftlab.session.tokenizer_sources import source_of
from ftlab.views.tokenizers.fingerprint import FingerprintView
from tests.probes.tokens.vocabularies import byte_level


def test_a_source_has_a_name_a_tokenizer_and_a_fingerprint(tmp_path):
    made = byte_level()
    print_ = read_fingerprint(made)
    live = source_of(made, "call()")
    assert (live.name, live.tokenizer, live.fingerprint) == (print_.kind, made, print_)
    made.save_pretrained(tmp_path / "mine")
    loaded = source_of(tmp_path / "mine", "call()")
    assert (loaded.name, loaded.fingerprint) == ("mine", print_)
    kept = source_of(FingerprintView(print_), "call()")
    assert (kept.tokenizer, kept.fingerprint) == (None, print_)


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_print, "LARGEST", 2**20)
    path = tmp_path / "kept.json"
    path.write_bytes(b" " * (2**20 + 1))
    with pytest.raises(BadValueError, match="more than 1 MiB"):
        source_of(path, "call()")


def test_code_of_others_is_not_run(tmp_path):
    byte_level().save_pretrained(tmp_path)
    config = (tmp_path / "tokenizer_config.json").read_text()
    told = (
        '{"auto_map": {"AutoTokenizer": ["own.Own", null]}, "tokenizer_class": "Own",'
    )
    (tmp_path / "tokenizer_config.json").write_text(config.replace("{", told, 1))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with contextlib.suppress(BadValueError):
        source_of(tmp_path, "call()")
    assert not (tmp_path / "ran").exists()


def test_one_file_of_a_tokenizer_is_refused_with_its_folder(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BadValueError, match="one file of a tokenizer; pass its folder"):
        source_of(tmp_path / "tokenizer.json", "fingerprint(tokenizer)")
