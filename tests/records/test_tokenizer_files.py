"""What makes the files of a tokenizer well."""

import pytest

from ftlab.records.tokenizer_files import Agreement, FileState, TokenizerFiles


@pytest.mark.parametrize(
    ("status", "ok"),
    [
        ("agrees", True),
        ("noted", True),
        ("not checked", False),
        ("differs", False),
        ("fails", False),
    ],
)
def test_only_what_agrees_or_is_noted_is_well(status, ok):
    told = Agreement("eos_token", status, "")
    assert TokenizerFiles("mine", (), (told,)).ok is ok


def test_a_file_that_cannot_be_read_is_not_well():
    good, bad = FileState("a.json"), FileState("b.json", 3, "it is no JSON")
    found = TokenizerFiles("mine", (good, bad), ())
    assert not found.ok
    assert found.problems == (bad,)
