"""Fields of templates that were not filled in, and braces that are meant."""

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.unfilled import unfilled


def faults(answer, prompt="What does it do?"):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [(fault.name, fault.char) for _, fault in unfilled(row)]


@pytest.mark.parametrize(
    ("answer", "char"),
    [
        ("Explain {function_name} to me.", 8),
        ("It is of {topic} and of {title}.", 9),
        ("Dear {{ user_name }}, it is so.", 5),
        ('It says "{first_line}".', 9),
    ],
)
def test_a_field_that_was_not_filled_in_is_found(answer, char):
    assert faults(answer) == [("unfilled-field", char)]


@pytest.mark.parametrize(
    ("answer", "prompt"),
    [
        ("Use f'{user_name}' for that.", "How?"),
        ("Call `get({user_name})`.", "How?"),
        ("x = {user_name}", "How?"),
        ("It is at /users/{user_id}/posts of the server.", "Where?"),
        ("The set {apple} has one element.", "Which set?"),
        ("The sets {one} and {one} are equal.", "Which?"),
        (r"\frac{one}{two_a} and {user_name}", "What?"),
        ("a_{max} of {x} and {y}", "What?"),
        ("Hello {user_name}!", "Write a template for a greeting."),
        ("Hallo {user_name}!", "Translate: Hello {user_name}!"),
        ("Dear {user_name}, it is so.", "Write the text of a letter with variables."),
        ("def f():\n    print {user_name}", "How?"),
        ("body {\n color: red }", "How?"),
        ("{'user_name': 3}", "What?"),
        ("{answer}", "What?"),  # a placeholder in place of the whole answer
    ],
)
def test_is_silent_on_braces_that_are_meant(answer, prompt):
    assert faults(answer, prompt) == []
