"""Values of columns: texts, lists of texts, answers."""

import numpy as np
import pytest

from ftlab.probes.data.rows.layout_values import (
    answers_of,
    no_choice,
    several,
    text_of,
)


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


@pytest.mark.parametrize(
    ("right", "count", "labels"),
    [
        ("E", 4, None),
        ("e", 4, None),
        (5, 4, None),
        ("12", 4, None),
        ("C", 2, ["A", "B"]),
        (3, 2, [1, 2]),
    ],
)
def test_a_key_beyond_the_choices_is_found(right, count, labels):
    assert no_choice(right, count, labels).startswith(f"'{right}', of ")


@pytest.mark.parametrize(
    ("right", "count", "labels"),
    [
        ("D", 4, None),
        (0, 4, None),
        (4, 4, None),
        (-1, 4, None),
        ("", 4, None),
        ("a bridge", 4, None),
        ("1893", 4, None),
        ("B", 2, ["A", "B"]),
        ("2", 2, [1, 2]),
        ("a bridge", 2, ["A", "B"]),
        ("F", 9, []),
    ],
)
def test_other_keys_may_be_right(right, count, labels):
    assert no_choice(right, count, labels) == ""
