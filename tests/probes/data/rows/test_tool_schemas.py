"""Arguments that do not fit their tool, and those that may."""

import json

import pytest

from ftlab.probes.data.rows.tool_calls import call_faults
from ftlab.probes.data.rows.tool_schemas import null_argument, null_property, unfit

TAKES = {
    "type": "object",
    "properties": {"expression": {"type": "string"}, "digits": {"type": "integer"}},
    "required": ["expression"],
}


def says(arguments, **more):
    return unfit("add", arguments, {"add": TAKES | more})


@pytest.mark.parametrize("given", [{"expr": "2+3"}, {}, {"digits": 3}])
@pytest.mark.parametrize("form", [json.dumps, dict])
@pytest.mark.parametrize("more", [{}, {"additionalProperties": True}])
def test_a_required_argument_that_is_missing_is_found(given, form, more):
    assert says(form(given), **more).startswith("add requires 'expression'; it is call")


@pytest.mark.parametrize("more", [{}, {"additionalProperties": False}])
def test_an_argument_that_the_tool_does_not_take_is_found(more):
    given = {"expression": "2+3", "round": 2}
    assert says(given, **more).startswith("'round' is no argument of add, which takes")


def test_a_tool_that_takes_nothing_and_no_others_is_given_none():
    closed = {"properties": {}, "required": [], "additionalProperties": False}
    assert says({"day": 1}, **closed)
    assert not says({"day": 1}, **closed | {"additionalProperties": None})


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({"expression": "2+3"}, {}),
        ({"expression": "2+3", "digits": 3}, {"additionalProperties": False}),
        ({"expression": "2+3", "other": None}, {}),
        ({"expression": "2+3", "other": 1}, {"additionalProperties": True}),
        ({"expression": "2+3", "other": 1}, {"additionalProperties": {"type": "int"}}),
        ({"expression": "2+3", "other": 1}, {"anyOf": [{"required": ["other"]}]}),
        ({"other": 1}, {"required": None, "properties": None}),
        ({"other": 1}, {"required": True}),
        ("{", {}),
        ("2+3", {}),
        (None, {}),
    ],
)
def test_is_silent_on_what_fits_or_cannot_be_told(given, more):
    more = {"properties": TAKES["properties"], "required": TAKES["required"], **more}
    more = more | ({"properties": {}} if more["required"] is True else {})
    assert says(given, **more) == ""


def faults(result, tools, name="add"):
    call = {"function": {"name": name, "arguments": '{"expr": "2+3"}'}}
    talk = [
        {"role": "user", "content": "2+3?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": result},
    ]
    return [each[:2] for each in call_faults({"tools": tools}, "messages", talk)]


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": {"name": "add", "parameters": TAKES}}],
        [{"name": "add", "input_schema": TAKES}],
        json.dumps([{"name": "add", "parameters": TAKES}]),
        [json.dumps({"name": "add", "parameters": json.dumps(TAKES)})],
    ],
)
def test_tools_are_read_in_the_forms_that_datasets_have(tools):
    where = ("arguments-unfit", "messages[1].tool_calls")
    assert faults("5", tools) == [where]
    assert faults("5", tools, "math.add") == [where]


@pytest.mark.parametrize("said", ["missing: expression", [{"text": "Invalid call"}]])
def test_a_call_that_is_told_to_be_wrong_may_be(said):
    assert faults(said, [{"name": "add", "parameters": TAKES}]) == []


def tool(properties, **more):
    takes = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": "look", "parameters": takes}}


def test_a_property_that_is_null_is_named():
    town = {"type": "string", "default": None}
    tools = [tool({"town": town}), tool({"town": town, "day": None})]
    assert null_property(tools) == "'day' of look is null, which is no schema"
    flat = {"name": "look", "parameters": {"properties": {"day": None}}}
    assert null_property([flat]) == "'day' of look is null, which is no schema"


@pytest.mark.parametrize(
    "tools",
    [
        None,
        "[]",
        [None],
        [{"function": None}],
        [{"name": "look", "parameters": None}],
        [tool({"town": {"type": "string", "enum": None}})],
        [tool({})],
    ],
)
def test_other_tools_have_none(tools):
    assert null_property(tools) == ""


@pytest.mark.parametrize(
    ("given", "is_told"),
    [
        ({"town": "Oslo", "day": None}, True),
        ('{"day": null}', True),
        ({"town": None}, False),
        ({"town": "Oslo", "day": 3}, False),
        ("no JSON", False),
    ],
)
def test_an_argument_that_is_null_as_its_property_is_named(given, is_told):
    tools = {"look": {"properties": {"town": {"type": "string"}, "day": None}}}
    assert (null_argument("look", given, tools) != "") is is_told
    assert null_argument("other", given, tools) == ""
