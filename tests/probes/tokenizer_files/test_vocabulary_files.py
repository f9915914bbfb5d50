"""vocab.json and merges.txt beside tokenizer.json."""

import json

import pytest

from ftlab.probes.tokenizer_files.folder_files import read_folder
from ftlab.probes.tokenizer_files.vocabulary_files import vocabulary_agreements

MODEL = {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}


def told(folder, vocab=None, merges=None, model=MODEL):
    own = {"model": model, "added_tokens": [{"content": "<end>", "id": 3}]}
    (folder / "tokenizer.json").write_text(json.dumps(own))
    for name, text in (("vocab.json", vocab), ("merges.txt", merges)):
        if text is not None:
            (folder / name).write_text(text)
    found = vocabulary_agreements(read_folder(folder))
    return {each.subject: (each.status, each.words) for each in found}


def test_the_same_agree(tmp_path):
    said = json.dumps(MODEL["vocab"] | {"<end>": 3})
    assert told(tmp_path, said, "#version: 0.2\na b\n") == {
        "vocab.json": ("agrees", "4 pieces"),
        "merges.txt": ("agrees", "1 merges"),
    }


def test_a_folder_without_them_says_nothing(tmp_path):
    assert told(tmp_path) == {}


def test_other_ids_are_named(tmp_path):
    said = told(tmp_path, '{"a": 0, "b": 2, "c": 1}')["vocab.json"]
    assert said == (
        "differs",
        "2 of 3 pieces have another id or none in tokenizer.json: 'b' is 2, and 1 "
        "there",
    )


@pytest.mark.parametrize(("merges", "number"), [("b a\n", 1), ("a b\nab a\n", 2)])
def test_the_first_other_merge_is_named(tmp_path, merges, number):
    status, words = told(tmp_path, None, merges)["merges.txt"]
    assert status == "differs"
    assert words.endswith(f"the first that differs is number {number}")


@pytest.mark.parametrize("vocab", ["", "no JSON", "[1]", "[" * 100_000])
def test_what_cannot_be_read_is_not_compared(tmp_path, vocab):
    assert told(tmp_path, vocab) == {}


@pytest.mark.parametrize("model", [None, {}, {"vocab": [["a", -1.0]], "merges": "a"}])
def test_models_of_another_form_are_not_compared(tmp_path, model):
    assert told(tmp_path, '{"a": 0}', "a b", model=model) == {}
