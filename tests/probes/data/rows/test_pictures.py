"""Pictures, places for them, and what only looks like one."""

import pytest

from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.rows.pictures import has_picture, picture_faults


def row(text, *, parts=(), **columns):
    content = [*parts, {"type": "text", "text": text}] if parts else text
    talk = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": "A bridge."},
    ]
    return {"messages": talk, **columns}


def says(value):
    return [said for _, _, said in picture_faults(value, parts_of(value))]


PICTURE = {"type": "image", "image": "a.png"}


@pytest.mark.parametrize("text", ["<image>\nWhat?", "What? <image>", "See\n<image>\n!"])
@pytest.mark.parametrize("columns", [{}, {"images": []}, {"image": None}])
def test_a_place_without_a_picture_is_found(text, columns):
    value = row(text, **columns)
    assert says(value) == ["<image>, and no picture"]
    (fault,) = picture_faults(value, parts_of(value))
    assert fault[:2] == ("picture-missing", "messages[0].content")


@pytest.mark.parametrize(
    "value",
    [
        row("<image>\nWhat?", image="a.png"),
        row("<image>\nWhat?", images=["a.png"]),
        row("<image>\nWhat?", parts=[PICTURE]),
        row("What?", images=["a.png"]),
        row("What does <image> mean in SVG?"),
        row("What?"),
        {"prompt": "Write SVG.", "completion": "<image>"},
        {"text": "<image>"},
    ],
)
def test_is_silent_on_healthy_rows(value):
    assert says(value) == []


def test_fewer_pictures_than_places_are_found():
    assert says(row("<image><image>\nWhich?", images=["a.png"])) == [
        "2 placed, 1 there"
    ]
    assert says(row("<image><image>\nWhich?", images=["a.png", "b.png"])) == []


PLACE = {"type": "image"}
EMPTY = {"type": "image", "image": None, "text": None}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (row("What?", parts=[PLACE], images=[]), "1 placed, 0 there"),
        (row("What?", parts=[EMPTY], images=None), "1 placed, 0 there"),
        (row("What?", parts=[PLACE] * 2, images=["a"]), "2 placed, 1 there"),
        (row("What?", parts=[PLACE], images=["a", "b"]), "2 pictures, 1 placed"),
        (row("<image>\nWhat?", images=["a", "b"]), "2 pictures, 1 placed"),
        (
            {
                "prompt": row("What?", parts=[PLACE])["messages"][:1],
                "completion": "A bridge.",
                "images": ["a", "b"],
            },
            "2 pictures, 1 placed",
        ),
    ],
)
def test_places_and_pictures_are_counted(value, found):
    assert says(value) == [found]


@pytest.mark.parametrize(
    "value",
    [
        row("What?", parts=[PLACE], images=["a"]),
        row("What?", parts=[PLACE]),
        row("What?", parts=[PICTURE, PICTURE], images=["a"]),
        row("What?", parts=[PICTURE], images=[]),
        row("What?", images=["a", "b"]),
        row("What?", images="a.png"),
        row("What?", parts=[PLACE | {"index": 0}] * 2, images=["a"]),
        row("What does <image> mean in SVG?", parts=[PLACE], images=["a"]),
        {
            name: row("What?", parts=[PLACE])["messages"]
            for name in ("chosen", "rejected")
        }
        | {"images": ["a"]},
    ],
)
def test_is_silent_where_places_and_pictures_agree(value):
    assert says(value) == []


def test_a_call_of_a_tool_is_no_picture():
    calls = [{"function": {"name": "look", "arguments": {}}}]
    talk = [{"role": "assistant", "content": "", "tool_calls": calls}]
    assert not has_picture({"messages": talk}, parts_of({"messages": talk}))
    assert has_picture(
        row("What?", parts=[PICTURE]), parts_of(row("", parts=[PICTURE]))
    )
