"""Marks go into texts where no template strips or cuts them, and come out again."""

import pytest

from ftlab.probes.templates.marks import FIRST, Marker, Plan, holds_marks
from tests.probes.templates.styles import assistant, user


def written(message, **plan):
    """Return a message's content with brackets for marks, and the marker."""
    marker = Marker(Plan(**plan))
    (marked,) = marker.marked([message])
    content = marked["content"]
    for number in range(2 * len(marker.stretches)):
        content = content.replace(chr(FIRST + number), "«»"[number % 2])
    return content, marker


def test_marks_stand_inside_outer_whitespace():
    assert written(user(" a b \n"))[0] == " «a b» \n"


def test_marks_do_not_cross_the_tags_of_the_template():
    text = "<think>\nwhy\n</think>\n\nso"
    content, marker = written(assistant(text), tags=frozenset({"<think>", "</think>"}))
    assert content == "<think>\n«why»\n</think>\n\n«so»"
    assert [s.part for s in marker.stretches] == ["reasoning", "text"]
    assert [s.before for s in marker.stretches] == ["<think>\n", "\n</think>\n\n"]
    assert written(assistant(text))[0] == f"«{text}»"


def test_what_stands_before_a_lone_closing_tag_is_reasoning():
    _, marker = written(assistant("why</think>so"), tags=frozenset({"</think>"}))
    assert [s.part for s in marker.stretches] == ["reasoning", "text"]


def test_empty_texts_are_marked_only_by_the_plan_that_says_so():
    assert written(user(""), empty=True)[0] == "«»"
    assert written(user(" "), empty=False)[0] == " "


def test_reading_takes_the_marks_out_and_says_where_they_were():
    marker = Marker(Plan())
    one, two = marker.marked([user("ab"), user("ab")])
    whole, found = marker.read(f"x{one['content']}y{two['content']}")
    assert whole == "xabyab"
    assert [(f.start, f.end, f.stretch.message) for f in found] == [
        (1, 3, 0),
        (4, 6, 1),
    ]


@pytest.mark.parametrize("letters", [repr, ascii])
def test_marks_that_were_written_in_letters_are_read(letters):
    marker = Marker(Plan())
    (one,) = marker.marked([user("ab")])
    whole, found = marker.read(letters(one["content"]))
    assert whole == "'ab'"
    assert [(f.start, f.end) for f in found] == [(1, 3)]


def test_marks_in_json_of_plain_letters_are_read():
    import json

    marker = Marker(Plan())
    (one,) = marker.marked([user("ab")])
    whole, found = marker.read(json.dumps(one["content"]))
    assert whole == '"ab"'
    assert len(found) == 1


def test_a_text_that_the_template_has_cut_is_not_found():
    marker = Marker(Plan())
    (one,) = marker.marked([user("abc")])
    _, found = marker.read(one["content"].replace("b", ""))
    assert found == []


def test_calls_are_marked_in_names_and_values():
    call = {"function": {"name": "f", "arguments": {"a": "x", "b": [1, "y"]}}}
    talk = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    marker = Marker(Plan(empty=False))
    marker.marked(talk)
    assert [s.text for s in marker.stretches] == ["f", "x", "y"]
    fewer = Marker(Plan(empty=False, names=False))
    fewer.marked(talk)
    assert [s.text for s in fewer.stretches] == ["x", "y"]
    assert talk[0]["tool_calls"] == [call]


def test_a_function_s_name_counts_where_it_is_called():
    call = {"function": {"name": "f", "arguments": {}}}
    marker = Marker(Plan(empty=False))
    (one,) = marker.marked([{"role": "assistant", "tool_calls": [call]}])
    name = one["tool_calls"][0]["function"]["name"]
    _, found = marker.read(f"call {name} result of {name}")
    assert [f.start for f in found] == [5]


def test_text_that_already_holds_such_characters_is_noticed():
    assert holds_marks([{"content": ["a", chr(FIRST)]}])
    assert not holds_marks([{"content": ["a", "\ue000", "😀", 3, None]}])
