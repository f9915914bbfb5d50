"""Whitespace and tags around a marked text are the message's where they were kept."""

from ftlab.probes.templates.marks import Marker, Plan
from ftlab.probes.templates.owners import in_order, owned
from tests.probes.templates.styles import assistant, user

TAGS = frozenset({"<think>", "</think>"})


def owned_by(messages, write, tags=TAGS):
    """Return the texts that messages own of what a function writes."""
    renderings = []
    for strip in (False, True):
        marker = Marker(Plan(empty=False, tags=tags, strip=strip))
        contents = [m["content"] for m in marker.marked(messages)]
        renderings.append(marker.read(write(contents)))
    text, found = renderings[0]
    return [text[own.start : own.end] for own in owned(text, found, renderings[1])]


def test_kept_whitespace_is_the_message_s():
    assert owned_by([user(" a\n"), user("\nb ")], "[{0[0]}]\n[{0[1]}]".format) == [
        " a\n",
        "\nb ",
    ]


def test_whitespace_of_the_template_is_not():
    def write(contents):
        return "\n".join(f"[\n{each.strip()}\n]" for each in contents)

    assert owned_by([user("\na\n"), user("\nb\n")], write) == ["a", "b"]


def test_tags_are_the_message_s_too():
    talk = [assistant("<think>\nwhy\n</think>\n\nso")]
    assert owned_by(talk, "[{0[0]}]".format) == ["<think>\nwhy\n</think>\n\n", "so"]


def test_a_text_is_not_found_before_the_one_in_front_of_it():
    talk = [user("b"), assistant("a")]
    text = "ab a"
    assert [text[o.start : o.end] for o in in_order(talk, text)] == ["b", "a"]
    assert [o.start for o in in_order(talk, text)] == [1, 3]


def test_a_text_that_is_not_there_is_left_out():
    assert [o.message for o in in_order([user("x"), assistant("a")], "ab")] == [1]
