"""Fractions and ranges that a spreadsheet took for dates."""

import pytest

from ftlab.probes.data.across.reports import report_sheet_dates
from tests.probes.data.scanned import rows_with, scanned


def told(said, others=("5/6", "13-20", "1/2"), prompt="What part is left?"):
    texts = [*others, *said]
    rows = [{"prompt": f"{prompt} {at}", "completion": t} for at, t in enumerate(texts)]
    scan = scanned(rows)
    report_sheet_dates(scan)
    return [at - len(others) for at in rows_with(scan, "date-for-number")]


def test_dates_among_fractions_are_found():
    assert told(["4-Mar", "12-Sep", "Mar-24"]) == [0, 1, 2]


@pytest.mark.parametrize(
    "prompt",
    ["On which date is it?", "When was it?", "Which day in March is it?", "By 2024?"],
)
def test_a_date_may_be_asked_for(prompt):
    assert told(["4-Mar", "12-Sep", "Mar-24"], prompt=prompt) == []


def test_dates_are_left_where_nothing_could_become_one():
    assert told(["4-Mar", "12-Sep", "Mar-24"], others=("0.5", "7", "12", "a lot")) == []


def test_one_or_two_are_left():
    assert told(["4-Mar", "12-Sep"]) == []


def test_what_only_looks_like_a_date_is_left():
    assert told(["4-Max", "Marc-24", "a 4-Mar", "124-Mar"]) == []
