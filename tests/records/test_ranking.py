"""Worst first, causes above their symptoms, nothing lost."""

from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.ranking import ranked

WARNING, ERROR = Severity.WARNING, Severity.ERROR


def found(code, severity=ERROR, follows="", first=0, rank=0):
    places = (Place("object", "loss"),)
    return Finding(
        code, "n", severity, "m", "", "", places, first, 9, rank=rank, follows=follows
    )


def codes(*findings):
    return [each.code for each in ranked(findings)]


def test_the_worst_is_first_then_the_earliest_then_the_code():
    late, early = found("A", first=5), found("B", first=1)
    assert codes(found("C", WARNING), late, early, found("A2", first=1)) == [
        "A2",
        "B",
        "A",
        "C",
    ]


def test_a_chain_stands_below_its_cause_though_the_cause_is_milder():
    chain = (
        found("A", follows="B"),
        found("B", WARNING, follows="C"),
        found("C", WARNING),
    )
    assert codes(*chain, found("D", first=3)) == ["C", "B", "A", "D"]


def test_without_its_cause_a_finding_stands_where_it_would():
    assert codes(found("A", WARNING, follows="B"), found("C")) == ["C", "A"]
    other_rank = found("A", follows="B"), found("B", WARNING, rank=1)
    assert codes(*other_rank) == ["A", "B"]


def test_findings_that_follow_from_each_other_are_all_there():
    circle = found("A", follows="B"), found("B", follows="A"), found("C", follows="C")
    assert sorted(codes(*circle)) == ["A", "B", "C"]
