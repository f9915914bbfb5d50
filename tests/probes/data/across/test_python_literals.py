"""Values of Python where JSON is wanted, and where they are right."""

import pytest

from ftlab.probes.data.across.reports import report_literals
from tests.probes.data.scanned import rows_with, scanned

JSON, VALUE = '{"name": "x", "size": null}', "{'name': 'x', 'size': None}"


def reported(answers, prompt="Name it."):
    asked = [
        {"prompt": f"{prompt} {at}", "completion": each}
        for at, each in enumerate(answers)
    ]
    scan = scanned(asked)
    report_literals(scan)
    return rows_with(scan, "python-as-json")


@pytest.mark.parametrize(
    "answer", [VALUE, "[{'a': 1}]", "['a', 'b']", '{"a": True}', "{'a': \"it's\"}\n"]
)
def test_a_value_of_python_is_found_where_json_is_asked_for(answer):
    assert reported([answer, JSON], "Name it as JSON.") == [0]


def test_it_is_found_where_the_others_are_json():
    assert reported([VALUE, *[JSON] * 10]) == [0]
    assert reported([VALUE, *[JSON] * 9]) == []
    assert reported([VALUE] * 11 + [JSON] * 10) == []


def test_where_python_is_asked_for_it_is_right():
    assert reported([VALUE, *[JSON] * 10], "Parse the JSON with Python.") == []
    assert reported([VALUE, *[JSON] * 10], "What does it print?") == []


@pytest.mark.parametrize(
    "answer",
    [
        JSON,
        "{'a': 1",
        "{'a', 'b'}",
        "{'a': f(x)}",
        "['a' for a in b]",
        "It's {'a': 1}",
        '{"a": "None, it\'s True"}',
        "It is None.",
    ],
)
def test_anything_else_is_left_alone(answer):
    assert reported([answer], "As JSON, please.") == []


def test_an_answer_in_a_wrapper_is_told_once():
    wrapped = "{'answer': 'It is so.', 'cost': 1}"
    made = [wrapped, *[JSON] * 10]
    scan = scanned([{"prompt": "Why?", "completion": each} for each in made])
    report_literals(scan)
    assert rows_with(scan, "wrapped-answer") == [0]
    assert rows_with(scan, "python-as-json") == []
