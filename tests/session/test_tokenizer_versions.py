"""One folder, read by two versions of transformers.

The folder holds ``tokenizer.model`` of Mistral 7B v0.1 (in mistral-common:
``tokenizer.model.v1``) and what `CONFIG` says: as Llama tokenizers were given away
before there was a ``tokenizer.json``. Its fingerprint was kept once with transformers
4.57.1 and once with 5.23.0, by ``ftlab.fingerprint(folder).save(...)``.
"""

import json
import shutil
from pathlib import Path

import pytest
import transformers

import ftlab
from ftlab.records import fingerprint
from ftlab.records.errors import BadValueError
from ftlab.records.fingerprint import Fingerprint
from tests.probes.tokenizers.real import file_of

KEPT = Path(__file__).parent.parent / "golden" / "tokenizers"
OLD, NEW = (KEPT / f"llama-transformers-{each}.json" for each in ("4.57.1", "5.23.0"))
CONFIG = {
    "tokenizer_class": "LlamaTokenizer",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
}


def test_two_versions_read_one_folder_differently_and_it_is_said_in_what():
    diff = ftlab.tokenizer_diff(OLD, NEW)
    assert not diff.same
    old, new = diff.diff.prints
    assert old.differing(new) == (
        "merges",
        "model",
        "normaliser",
        "pre-tokeniser",
        "post-processor",
        "special tokens",
        "switches",
    )
    lines = [" ".join(line.split()) for line in repr(diff).splitlines()]
    assert "≠ normaliser Sequence, Prepend, Replace against nothing" in lines
    assert "≠ pre-tokeniser nothing against Metaspace" in lines
    assert "≠ switches add_bos_token on against off" in lines


def test_the_older_version_put_bos_before_each_text():
    old, new = (ftlab.fingerprint(each) for each in (OLD, NEW))
    part = "post-processor"
    assert old.parts[part].entries["single.0.SpecialToken.id"] == '"<s>"'
    assert "single.0.SpecialToken.id" not in new.parts[part].entries


def test_both_have_the_same_vocabulary():
    old, new = (ftlab.fingerprint(each) for each in (OLD, NEW))
    assert old.parts["vocabulary"] == new.parts["vocabulary"]
    assert old.parts["vocabulary"].size == 32000


@pytest.mark.skipif(transformers.__version__ != "5.23.0", reason="kept with 5.23.0")
def test_the_newer_one_is_what_is_read_today(tmp_path):
    pytest.importorskip("google.protobuf", reason="transformers needs it to convert")
    shutil.copy(file_of("tokenizer.model.v1"), tmp_path / "tokenizer.model")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    assert ftlab.fingerprint(tmp_path) == ftlab.fingerprint(NEW)


def test_what_an_older_ftlab_has_kept_stays_readable(monkeypatch):
    monkeypatch.setattr(fingerprint, "VERSION", 2)
    read = ftlab.fingerprint(OLD).fingerprint
    assert read.version == 1
    assert read.digest == json.loads(OLD.read_text())["digest"]
    assert Fingerprint.from_json(read.as_json()) == read


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_what_a_newer_one_has_kept_is_refused(tmp_path, version):
    kept = json.loads(OLD.read_text()) | {"version": version}
    (tmp_path / "kept.json").write_text(json.dumps(kept))
    with pytest.raises(BadValueError, match="it is of version"):
        ftlab.fingerprint(tmp_path / "kept.json")
