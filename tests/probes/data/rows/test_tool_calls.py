"""Calls of tools, faulty and healthy, in the forms that datasets have."""

import json

import pytest

from ftlab.probes.data.rows.tool_calls import call_faults, tool_names

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
    assert tool_names(tools) == frozenset()
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
