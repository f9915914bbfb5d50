"""Parts and changes in words."""

import json

import pytest

from ftlab.records.fingerprint import Change, Part, part_of
from ftlab.views.tokenizers.fingerprint_words import change_words, part_words, shown


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("model", {"type": "BPE", "dropout": None}, "BPE"),
        ("model", {}, "1 setting"),
        ("added tokens", {"3": ["<a>", "special"]}, "1 token: '<a>'"),
        ("chat template", {"default": "{{ 1 }}"}, "7 characters"),
        ("chat template", {"a": "1", "b": "12"}, "a: 1 character, b: 2 characters"),
        ("switches", {"legacy": True}, "legacy on"),
    ],
)
def test_a_part_is_said_in_one_line(name, value, words):
    assert part_words(name, part_of(value)) == words


def test_many_entries_are_counted():
    added = {str(at): [f"<{at}>"] for at in range(1000)}
    assert part_words("added tokens", part_of(added)).endswith("and 994 more")
    assert part_words("merges", Part("", 1)) == "1 byte"


def test_a_change_says_both_sides():
    change = Change("special tokens", "eos_token_id", "2", "")
    assert change_words(change) == "eos_token_id 2 against nothing"


def test_two_vocabularies_of_one_size_are_told_apart():
    change = Change("vocabulary", "", "32,000", "32,000")
    assert change_words(change) == "32,000 ids on both sides, different ones"


def test_long_texts_are_shown_where_they_part():
    old, new = "x" * 500 + "</s>", "x" * 500 + "<|im_end|>"
    words = change_words(
        Change("chat template", "default", *map(json.dumps, (old, new)))
    )
    assert "</s>" in words
    assert "<|im_end|>" in words
    assert len(words) < 200


def test_long_values_are_cut():
    assert len(shown(json.dumps("x" * 1000))) == 60
    assert shown("12") == "12"
