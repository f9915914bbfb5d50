"""Lines of cause and effect."""

from ftlab.records.chains import chain_lines, chains
from ftlab.records.finding import Finding, Place, Severity


def found(code, follows="", name="a-fault", rank=0, **evidence):
    place = (Place("object", "loss"),)
    return Finding(
        code,
        name,
        Severity.ERROR,
        "m",
        "c",
        "f",
        place,
        0,
        0,
        evidence,
        rank=rank,
        follows=follows,
    )


FLAT = found("C", "B", "flat-loss")
STUCK = found("B", "A", "adapter-stuck")
CUT = found("A", name="gradient-lost", reason="graph-cut")


def codes(findings):
    return ["".join(each.code for each in line) for line in chains(findings)]


def test_a_line_goes_from_the_symptom_to_the_root():
    assert codes([CUT, FLAT, STUCK]) == ["CBA"]


def test_the_root_ends_with_its_reason():
    assert chain_lines([FLAT, STUCK, CUT]) == [
        "flat loss (C) <- adapter stuck (B) <- gradient lost (A) <- graph cut"
    ]


def test_two_symptoms_of_one_cause_are_two_lines():
    assert codes([CUT, STUCK, found("D", "A")]) == ["BA", "DA"]


def test_two_findings_without_a_reason_are_no_line_of_text():
    assert chain_lines([found("B", "A"), found("A", reason="unknown")]) == []


def test_findings_that_follow_from_each_other_end():
    assert codes([found("A", "B"), found("B", "A")]) == []
    assert codes([found("C", "A"), found("A", "B"), found("B", "A")]) == ["CAB"]


def test_a_cause_on_another_rank_is_none():
    assert codes([found("B", "A"), found("A", rank=1)]) == []
