"""All kinds of faults of rows, and what the rules make of them."""

import re

import pytest

from ftlab.records.errors import FtlabWarning, UnknownNameError
from ftlab.records.scanned_rows import FoundRows, ScannedRows
from ftlab.rules.dataset_issues import (
    RETIRED_KINDS,
    check_kind,
    issues_of,
    row_kinds,
    row_rules,
)
from ftlab.rules.reading.row_kind import NEVER

KINDS = row_kinds()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_says_what_why_and_what_to_do(kind):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.name)
    assert not kind.says.endswith(".")
    assert kind.cause.endswith(".")
    assert kind.fix.endswith(".")
    assert 0 <= kind.warns_from < kind.meant_above or kind.warns_from == NEVER


def test_no_kind_belongs_to_two_rules():
    assert len(KINDS) == sum(len(rule.kinds) for rule in row_rules())


def test_a_retired_kind_is_a_warning_and_an_unknown_one_an_error():
    assert RETIRED_KINDS.isdisjoint(KINDS)
    with pytest.warns(FtlabWarning, match="looks for 'looping-answer' any more"):
        check_kind("looping-answer")
    with pytest.raises(UnknownNameError, match="empty-answer"):
        check_kind("empty-answers")


def test_the_worst_and_most_frequent_stand_in_front():
    names = {"duplicate-row": 20, "empty-answer": 30, "unreadable-row": 1}
    found = tuple(FoundRows(name, rows) for name, rows in names.items())
    issues = issues_of(ScannedRows("rows", 100, found=found))
    assert [(each.code, each.name) for each in issues] == [
        ("DAT057", "unreadable-row"),
        ("DAT058", "empty-answer"),
        ("DAT061", "duplicate-row"),
    ]
