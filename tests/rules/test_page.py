"""Pages of rules as text and as Markdown."""

import pytest

from ftlab.records.errors import UnknownNameError
from ftlab.rules.page import OPTIONAL, SECTIONS, explain, parse_sections

HAS = [heading for heading in SECTIONS if heading not in OPTIONAL]


def test_the_text_holds_every_section_in_order():
    text = repr(explain("GRD003"))
    places = [text.index(f"\n{heading}\n{'-' * len(heading)}") for heading in HAS]
    assert places == sorted(places)
    assert text.startswith("GRD003 gradient-not-reaching (stable, since 0.1.0)")
    assert text == repr(explain("gradient-not-reaching"))


def test_markdown_has_the_sections_as_headings():
    text = explain("GRD003")._repr_markdown_()
    assert text.startswith("# GRD003 gradient-not-reaching")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == HAS


def test_the_page_says_what_the_rule_needs():
    assert "Needs: the global gradient norm of each step" in repr(explain("GRD002"))


def test_the_summary_is_one_sentence():
    page = explain("NUM001")
    assert page.summary == "Finds the first step whose loss is NaN or infinite"
    assert page.area == "numeric"


def test_sections_are_parsed_without_what_precedes_them():
    text = "First.\n\n## One\nuno\n\n## Two\ndue\ntre\n"
    assert parse_sections(text) == {"One": "uno", "Two": "due\ntre"}


def test_an_unknown_rule_is_named():
    with pytest.raises(UnknownNameError, match="NUM01"):
        explain("NUM01")
