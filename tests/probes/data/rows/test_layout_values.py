"""Values of columns: texts, lists of texts, answers."""

import numpy as np
import pytest

from ftlab.probes.data.rows.layout_values import answers_of, several, text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (float("nan"), ""), (np.array(["a", "b"]), "a\nb"), ([1], None)],
)
def test_a_text_is_one_or_several(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("value", "answers"),
    [
        ([{"text": "a", "answer_start": 3}], [("a", 3)]),
        ({"text": "a", "answer_start": 3}, [("a", 3)]),
        ({"value": "a", "aliases": ["b"]}, [("a", None)]),
        ({"text": ["a", "b"], "answer_start": [1]}, [("a", 1), ("b", None)]),
        (["a", 1], None),
        ([{"text": "a"}, {"other": 1}], None),
        ({"other": "a"}, None),
    ],
)
def test_answers_have_a_place_or_none(value, answers):
    assert answers_of(value) == answers


def test_passages_have_a_text():
    assert several([{"text": "a", "title": "b"}, "c", 3, {"other": 1}]) == ["a", "c"]
