"""JSON that breaks off, at every place, and texts that only begin like it."""

import json

import pytest

from ftlab.probes.data.answers.answer_faults import answer_faults
from ftlab.probes.data.answers.open_json import open_json
from ftlab.probes.data.rows.row_parts import parts_of

WHOLE = json.dumps(
    {"name": "Ada", "of": [{"a": True}, {"b": None}], "says": 'so "it" is, {or [not'},
    indent=1,
)


def test_json_that_is_cut_anywhere_is_found():
    assert open_json(WHOLE) is None
    missed = [cut for cut in range(8, len(WHOLE)) if open_json(WHOLE[:cut]) is None]
    assert len(missed) <= 4  # behind a backslash, and where what is open looks closed


def test_a_short_answer_is_looked_at_too():
    row = parts_of({"prompt": "Who? As JSON.", "completion": '{"name": "Ad'})
    assert [fault.name for _, fault in answer_faults(row)] == ["unfinished-answer"]


@pytest.mark.parametrize(
    "text",
    [
        "[1] Knuth, The Art of Computer Programming, [2",
        "[the page](https://a.b/c) says {so",
        "{name} is filled in, {other is not",
        '{"a": 1} is an object, and { opens one',
        '{"a": 1}\n{"a": [2, 3]}\n',
        '{"a": [1, 2}, which has a wrong bracket',
        '["a", "b"] and [c',
        '{"a": "he said "no" to it", "b": [}',
        "{'a': 'of Python, [",
        '{"a": 1, // of JavaScript, {\n "b": 2}',
        '{\n  "a": 1,\n  ...\n',
        "",
        "{",
    ],
)
def test_is_silent_on_what_is_no_json_or_whole(text):
    assert open_json(text) is None
