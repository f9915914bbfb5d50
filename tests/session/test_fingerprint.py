"""`ftlab.fingerprint` as a user calls it."""

import pytest

import ftlab
from ftlab.probes.tokenizers.kept_print import keep_beside
from ftlab.records.errors import BadValueError
from tests.probes.tokenizers.real import mistral
from tests.probes.tokens.vocabularies import byte_level, unigram


@pytest.fixture
def folder(tmp_path):
    byte_level().save_pretrained(tmp_path / "mine")
    return tmp_path / "mine"


def test_a_folder_has_that_of_its_tokenizer(folder):
    made = ftlab.fingerprint(byte_level())
    assert ftlab.fingerprint(folder) == made
    assert ftlab.fingerprint(str(folder)).digest == made.digest
    assert ftlab.fingerprint(unigram()) != made


def test_a_kept_one_is_read_again(tmp_path):
    made = ftlab.fingerprint(mistral())
    path = made.save(tmp_path / "kept.json")
    assert ftlab.fingerprint(path) == made
    assert ftlab.fingerprint(made.fingerprint) == made


def test_what_cannot_be_read_is_refused_in_words(tmp_path):
    for given in (None, 3, object()):
        with pytest.raises(BadValueError, match=r"was given .*; it takes a tokenizer"):
            ftlab.fingerprint(given)
    with pytest.raises(BadValueError, match=r"AutoTokenizer\.from_pretrained"):
        ftlab.fingerprint("some/hub-name")
    with pytest.raises(BadValueError, match="neither a folder nor a file"):
        ftlab.fingerprint("with\0nul")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"parts": {"a": 1}}']
)
def test_a_file_that_is_no_fingerprint_is_named(tmp_path, content):
    path = tmp_path / "kept.json"
    path.write_bytes(content)
    with pytest.raises(BadValueError, match=r"kept\.json is not a fingerprint"):
        ftlab.fingerprint(path)


def test_a_folder_without_a_tokenizer_is_named(tmp_path):
    with pytest.raises(BadValueError, match="cannot load a tokenizer from"):
        ftlab.fingerprint(tmp_path)
    (tmp_path / "tokenizer.json").write_text("[]")
    with pytest.raises(BadValueError, match="cannot load a tokenizer from"):
        ftlab.fingerprint(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(BadValueError, match="neither a folder nor a file"):
        ftlab.fingerprint(tmp_path / "loop")


def test_a_checkpoint_says_whether_it_holds_what_was_trained_with(folder):
    keep_beside(folder, ftlab.fingerprint(byte_level()).fingerprint)
    view = ftlab.fingerprint(folder)
    assert view.trained == view.fingerprint
    assert "= trained with" in repr(view)
    unigram().save_pretrained(folder)
    view = ftlab.fingerprint(folder)
    assert view == ftlab.fingerprint(unigram())
    assert view.trained == ftlab.fingerprint(byte_level()).fingerprint
    assert "≠ trained with" in repr(view)
    words = " ".join(repr(view).split())
    assert "than in these files: vocabulary, merges, model" in words


def test_a_checkpoint_without_a_tokenizer_has_the_kept_one(tmp_path):
    made = ftlab.fingerprint(byte_level())
    keep_beside(tmp_path, made.fingerprint)
    assert ftlab.fingerprint(tmp_path) == made
    (tmp_path / "tokenizer.json").write_text("[]")
    with pytest.raises(BadValueError, match="cannot load a tokenizer from"):
        ftlab.fingerprint(tmp_path)
