"""Calls of tools, faulty and healthy, in the forms that datasets have."""

import json

import pytest

from ftlab.probes.data.rows.tool_calls import call_faults, tools_of

TOOL = {"name": "get_weather", "parameters": {}}
TOOLS = [{"type": "function", "function": TOOL}]


def call(arguments="{}", name="get_weather", made="call0"):
    return {"id": made, "function": {"name": name, "arguments": arguments}}


def talk(*calls, told=None):
    result = {"role": "tool", "content": "7"} | ({"tool_call_id": told} if told else {})
    return [
        {"role": "user", "content": "How warm is it?"},
        {"role": "assistant", "content": None, "tool_calls": list(calls)},
        result,
        {"role": "assistant", "content": "Seven degrees."},
    ]


def faults(messages, tools=TOOLS):
    return list(call_faults({"tools": tools}, "messages", messages))


@pytest.mark.parametrize(
    "arguments",
    [
        {"town": "Oslo"},
        '{"town": "Oslo"}',
        ' {"code": "a\nb"}',
        "",
        "{}",
        None,
        "print(1)",
    ],
)
def test_arguments_that_can_be_read_are_in_order(arguments):
    assert faults(talk(call(arguments))) == []


@pytest.mark.parametrize("arguments", ["{'town': None}", '{"a": True}', "{'a': 'b'}"])
def test_arguments_that_str_has_written_are_told_apart(arguments):
    ((name, where, says),) = faults(talk(call(), call(arguments)))
    assert (name, where) == ("arguments-of-python", "messages[1].tool_calls")
    assert says == repr(arguments)


@pytest.mark.parametrize("arguments", ['{"town": "Os', "{'town': 'Oslo'", '{"a": 1'])
def test_arguments_that_are_no_json_are_found(arguments):
    ((name, where, says),) = faults(talk(call(), call(arguments)))
    assert (name, where) == ("arguments-broken", "messages[1].tool_calls")
    assert says.startswith(f"{arguments!r} is no JSON: ")


@pytest.mark.parametrize(
    "tools",
    [
        TOOLS,
        [TOOL],
        json.dumps(TOOLS),
        [json.dumps(TOOL)],
    ],
)
def test_a_tool_of_another_name_is_found_in_all_forms_of_tools(tools):
    ((name, where, says),) = faults(talk(call(name="getWeather")), tools)
    assert (name, where) == ("unknown-tool", "messages[1].tool_calls")
    assert says == (
        "calls 'getWeather', which is none of the row's tools (near 'get_weather')"
    )


@pytest.mark.parametrize("tools", [None, [], "", "not JSON", [{"type": "search"}], 7])
def test_names_are_not_judged_without_a_list_of_tools(tools):
    assert tools_of(tools) == {}
    assert faults(talk(call(name="another")), tools) == []


def test_a_prefix_of_a_tool_is_no_matter():
    assert faults(talk(call(name="functions.get_weather"))) == []


def test_a_result_needs_the_id_of_a_call_before_it():
    assert faults(talk(call(), call(made="call1"), told="call1")) == []
    ((name, where, says),) = faults(talk(call(), told="call7"))
    assert (name, where) == ("result-of-no-call", "messages[2].tool_call_id")
    assert says == "'call7' is no id of a call before it"


def test_ids_are_not_judged_where_calls_have_none():
    assert faults(talk(call(made=None), told="call7")) == []


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        ('{"name": "get_weather", "arguments": {"town": "Oslo"}}', []),
        ("I look it up.", []),
        ('{"name": "get_weather", "arguments": {"to', ["arguments-broken"]),
        ('{"name": "weather", "arguments": {}}', ["unknown-tool"]),
    ],
)
def test_calls_that_are_messages_of_their_own_are_read(value, kinds):
    said = [
        {"from": "human", "value": "How warm is it?"},
        {"from": "function_call", "value": value},
    ]
    found = faults(said, json.dumps([TOOL]))
    assert [name for name, *_ in found] == kinds
    assert all(where == "messages[1].value" for _, where, _ in found)


TAKES = {
    "type": "object",
    "properties": {"expression": {"type": "string"}, "digits": {"type": "integer"}},
    "required": ["expression"],
}


def says(arguments, result="5", name="add", **more):
    tools = [{"name": "add", "parameters": TAKES | more}]
    said = talk(call(arguments, name))
    said[2]["content"] = result
    kinds = {kind: says for kind, _, says in faults(said, tools)}
    return kinds.get("arguments-unfit", "")


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
    assert tools_of(tools) == {"add": TAKES}


@pytest.mark.parametrize("said", ["missing: expression", [{"text": "Invalid call"}]])
def test_a_call_that_is_told_to_be_wrong_may_be(said):
    assert says({"expr": "2+3"}, said) == ""
    assert says({"expr": "2+3"}, "5", "math.add") != ""


NULL = {"properties": {"town": {"type": "string"}, "day": None}}


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({"town": "Oslo", "day": None}, ["schema-null", "arguments-null"]),
        ('{"day": null}', ["schema-null", "arguments-null"]),
        ({"town": None}, ["schema-null"]),
    ],
)
def test_properties_that_are_null_are_named(given, kinds):
    tools = [{"name": "look", "parameters": NULL}]
    found = faults(talk(call(given, "look")), tools)
    assert [name for name, *_ in found] == kinds
    assert found[0][1:] == ("tools", "'day' of look is null, which is no schema")
