"""Columns by their names."""

import pytest

from ftlab.probes.data.rows.layout_names import (
    first_of,
    known_names,
    numbered_choices,
    tag_columns,
    two_texts,
)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (("Sentence 1", "Sentence 2"), ("Sentence 1", "Sentence 2")),
        (("sentence_A", "sentence_B"), ("sentence_A", "sentence_B")),
        (("s1", "s2", "score"), ("s1", "s2")),
        (("hypothesis", "premise"), ("premise", "hypothesis")),
        (("sentence1", "sentence3"), None),
        (("text", "label"), None),
    ],
)
def test_two_texts_are_known_by_their_numbers(columns, found):
    assert two_texts(known_names(columns)) == found


def test_the_first_of_two_spellings_counts():
    names = known_names(("Label", "label", 7))
    assert names.spelt == {"label": "Label"}
    assert first_of(names, ("score", "label")) == "Label"


def test_choices_are_numbered_or_lettered():
    names = known_names(("answerA", "opb", "choice1", "ending0", "option", "answer"))
    assert numbered_choices(names) == ("answerA", "opb", "choice1", "ending0")


def test_tags_have_tags_in_their_name():
    names = known_names(("ner_tags", "pos", "upos", "Labels", "tagline", "position"))
    assert tag_columns(names) == ("ner_tags", "pos", "upos", "Labels")
