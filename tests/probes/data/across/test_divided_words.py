"""Single words that are divided at the end of a line, and compounds."""

import pytest

from ftlab.probes.data.across.divided_words import FEWEST, DividedWords
from ftlab.probes.data.across.reports import report_divided_words
from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.text_store import TextStore
from tests.probes.data.scanned import rows_with, scanned

SEVERAL = "It de-\npends on the wea-\nther of day {}."


def among(text, *others):
    divided = DividedWords()
    divided.look(0, parts_of({"text": text}))
    return [(each.char, each.first, each.second) for each in divided.among(others)]


def test_a_word_that_stands_undivided_elsewhere_is_found():
    found = among("It is \u00fcber-\nhaupt so.", "Ist das \u00dcberhaupt? Das haupt.")
    assert found == [(6, "\u00fcber", "haupt")]


def test_a_word_whose_second_half_stands_nowhere_is_found():
    text = "The com-\nforts of it."
    assert among(text, text, "Another text.") == [(4, "com", "forts")]


@pytest.mark.parametrize(
    "text",
    ["It is well-\nknown.", "A well-\nforts-but-old one.", "See ABX-\nforts it."],
)
def test_a_compound_is_not(text):
    assert among(text, text, "It is known, and old.") == []


def of_pages(count, others=0):
    rows = [SEVERAL.format(at) for at in range(count)]
    rows += [f"It is {at}." for at in range(others)]
    rows += [
        "It is some-\nthing.",
        "It is something, and it is well-\nknown.",
        "Known.",
    ]
    scan = scanned([{"text": text} for text in rows])
    scan.texts = TextStore()
    for text in rows:
        scan.texts.append(text)
    report_divided_words(scan)
    scan.close()
    return scan


def test_it_is_told_where_many_rows_have_several():
    scan = of_pages(FEWEST)
    assert rows_with(scan, "hyphenated-lines") == [*range(FEWEST), FEWEST]
    spot = scan.findings.spots["hyphenated-lines"][-1]
    assert (spot.column, spot.char, spot.says) == ("text", 6, r"'some-\\nthing'")


def test_it_is_not_told_among_few():
    assert len(rows_with(of_pages(FEWEST - 1), "hyphenated-lines")) == FEWEST - 1
    assert len(rows_with(of_pages(FEWEST, 1000), "hyphenated-lines")) == FEWEST
