"""Tags of web pages in prose, and answers that are written in HTML on purpose."""

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.left_markup import left_markup


def faults(answer, prompt="How do bees find their way?"):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [(fault.name, fault.char) for _, fault in left_markup(row)]


@pytest.mark.parametrize(
    "answer",
    [
        "<p>They look at the sun, and tell the others.</p>",
        "<p>They look at the sun.<p>They tell the others.</p>",
        "<b>Bees</b> look at the sun, and tell the others of it.",
        '<div class="text">They look at the sun, and they tell the others.</div>',
        "<ul><li>They look at the sun.</li><li>They tell the others.</li></ul>",
    ],
)
def test_tags_in_prose_are_found(answer):
    assert faults(answer) == [("html-tags", 0)]


def test_line_breaks_of_a_page_are_found():
    assert faults("They look.<br>They tell.<br/>So it is.") == [("html-tags", 10)]


@pytest.mark.parametrize(
    ("answer", "prompt"),
    [
        ("<p>They look.</p><p>They tell.</p>", "Write it in HTML."),
        ("<p>They look.</p><p>They tell.</p>", "Write it for my web page."),
        ("<p>Sie sehen.</p><p>Sie sagen.</p>", "Translate: <p>They look.</p>"),
        ("<p>They look.</p><p>They tell.</p>", "Write the e-mail's markup."),
        ("```\n<p>They look.</p>\n```", "How?"),
        ("Use `<b>` and `</b>` around it, and `<br>`.", "How?"),
        ("| a | b |\n|---|---|\n| one<br>two | three<br>four |", "As a table?"),
        ("<!DOCTYPE html><html><p>They look.</p></html>", "Make one."),
        ("return (<div><b>{name}</b></div>) => x", "Write a view."),
        ("Use List<a> and Map<b> for that.", "How?"),
        ("a <b and c> d, x</y", "Is it?"),
        ("<answer>They look.</answer>", "How?"),
        ("<think>They look.</think>\n\nThey tell.", "How?"),
        ("<p>a</p>", "How?"),
        ("They look <3 and <br> they tell.", "How?"),
        ("def f():\n    print('<p>Look.</p>')", "How?"),
        ("import cgi\nshow('<b>a</b> or <i>b</i>, it may be')", "How?"),
        ("Do this:\n  echo '<p>They look.</p>'", "How?"),
    ],
)
def test_is_silent_on_markup_that_is_meant(answer, prompt):
    assert faults(answer, prompt) == []


def test_code_within_the_tags_is_no_reason_for_them():
    answer = "<p>They look, as this does:</p>\n<p>So it is:\nimport bees</p>"
    assert faults(answer) == [("html-tags", 0)]
