"""Signs of formulas, code and options, and marks that are none."""

import pytest

from ftlab.probes.data.across.signs import signs


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x^2 + (-3)x = 0", ["^", "+", "-", "="]),
        ("x^2+(-3)x=0", ["^", "+", "-", "="]),
        ("a - b, f(x)-g(y), 3 \u2212 4", ["-", "-", "-"]),
        ("if (!x) return ~5 != 3", ["!", "~", "!="]),
        ("5% of it, 5 \u2265 3", ["%", "\u2265"]),
        ("ls -l --Color", ["-l", "--Color"]),
        ("C++ or C#", ["++", "#"]),
        ("* of a pattern", ["*"]),
    ],
)
def test_signs_are_found_however_they_are_spaced(text, found):
    assert signs(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "A well-known bridge - of stone \u2013 is old.",
        "- one\n- two",
        "It is **very** old, *really*!",
        "A 10-year plan",
        "",
    ],
)
def test_marks_of_prose_are_none(text):
    assert signs(text) == []
