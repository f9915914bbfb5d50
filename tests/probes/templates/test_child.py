"""The process that renders: its messages, and how it puts errors into words."""

import io

import pytest
from jinja2 import exceptions

from ftlab.probes.templates.child import (
    LONGEST_WORDS,
    _clock_at,
    _words,
    read_frame,
    write_frame,
)


def sent(*messages):
    stream = io.BytesIO()
    for message in messages:
        write_frame(stream, message)
    stream.seek(0)
    return stream


def test_messages_arrive_in_order_and_halves_of_characters_too():
    stream = sent({"text": "ä \ud800"}, [1, None])
    assert read_frame(stream) == {"text": "ä \ud800"}
    assert read_frame(stream) == [1, None]
    assert read_frame(stream) is None


def test_a_message_that_is_cut_off_is_the_end():
    whole = sent({"text": "abc"}).getvalue()
    for length in range(len(whole)):
        assert read_frame(io.BytesIO(whole[:length])) is None


def test_a_message_that_is_too_long_is_not_read():
    stream = sent("a" * 100)
    with pytest.raises(ValueError, match="102 bytes"):
        read_frame(stream, 101)
    stream.seek(0)
    assert read_frame(stream, 102) == "a" * 100


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (exceptions.TemplateSyntaxError("odd", 3), "syntax", "line 3: odd"),
        (exceptions.SecurityError("unsafe"), "forbidden", "no template may: unsafe"),
        (OverflowError("range"), "forbidden", "asked for too much: range"),
        (exceptions.UndefinedError("'a'"), "undefined", "not given: 'a'"),
        (exceptions.TemplateError("no tools"), "raised", 'raised "no tools"'),
        (KeyError("x"), "failed", "failed with KeyError: 'x'"),
    ],
)
def test_errors_are_put_into_words(error, kind, said):
    found = _words(error)
    assert found[0] == kind
    assert said in found[1]


def test_what_a_template_says_is_one_short_line():
    _, said = _words(exceptions.TemplateError("a\n" * 10**6))
    assert "\n" not in said
    assert len(said) < LONGEST_WORDS + 20


def test_a_clock_that_stands_still():
    clock = _clock_at("2031-02-03T04:05:06")
    assert clock.now().isoformat() == "2031-02-03T04:05:06"
    assert clock.now().strftime("%Y") == "2031"
