"""Merging sightings into findings."""

import dataclasses

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.report import FindingSet, report_of
from ftlab.rules.rule import ANY, MAX_PLACES
from tests.runs import only


def seen(
    places="a",
    steps=(0, 0),
    severity=Severity.WARNING,
    code="AAA001",
    rank=0,
    reason="r",
):
    return Finding(
        code=code,
        name="n",
        severity=severity,
        message=f"step {steps[1]}",
        cause="",
        fix="",
        places=tuple(Place("param", each) for each in places),
        first_step=steps[0],
        last_step=steps[1],
        rank=rank,
        evidence={"reason": reason},
    )


def merged(*sightings):
    findings = FindingSet()
    for each in sightings:
        findings.add(each)
    return findings.sorted()


def test_overlapping_places_are_one_finding_under_its_first_place():
    finding = only(merged(seen("ab", (0, 4)), seen("bc", (3, 9))), steps=(0, 9))
    assert finding.place.name == "a"
    assert [place.name for place in finding.places] == ["a", "b", "c"]
    assert finding.message == "step 9"


def test_an_older_window_does_not_change_the_words():
    finding = only(merged(seen("a", (8, 9)), seen("a", (2, 3))), steps=(2, 9))
    assert finding.message == "step 9"


def test_a_place_that_both_name_in_passing_joins_nothing():
    assert len(merged(seen("az"), seen("bz"))) == 2


def test_other_places_codes_and_ranks_are_other_findings():
    assert len(merged(seen("a"), seen("b"))) == 2
    assert len(merged(seen("a"), seen("a", code="AAA002"))) == 2
    assert len(merged(seen("a"), seen("a", rank=1))) == 2


def test_the_worst_severity_stays_with_its_words():
    worse = seen(severity=Severity.ERROR, reason="worse")
    finding = only(merged(worse, seen(steps=(1, 1), severity=Severity.INFO)), "error")
    assert (finding.message, finding.evidence["reason"]) == ("step 0", "worse")
    assert finding.last_step == 1


def together(*sightings):
    findings = FindingSet()
    findings.add(*sightings)
    return findings


def test_two_reasons_of_one_time_are_two_findings_where_they_overlap():
    findings = together(seen("ab", reason="one"), seen("b", reason="other"))
    assert len(findings.sorted()) == 2
    findings.add(seen("b", (1, 1), reason="other"), seen("ab", (1, 1), reason="one"))
    assert [each.last_step for each in findings.sorted()] == [1, 1]


def test_of_two_reasons_at_one_first_place_the_worse_is_told():
    note = seen("ab", severity=Severity.INFO, reason="note")
    error = seen("ab", severity=Severity.ERROR, reason="error")
    for sightings in ((note, error), (error, note)):
        only(together(*sightings).sorted(), reason="error")


def test_a_reason_that_becomes_another_is_the_same_finding():
    findings = together(seen("ab", reason="planned"))
    findings.add(seen("bc", (4, 9), reason="so far"))
    (finding,) = findings.sorted()
    assert (finding.first_step, finding.evidence["reason"]) == (0, "so far")


def test_places_are_limited():
    (finding,) = merged(seen("abcdefghij"), seen("jklmnopqrstuv", (1, 1)))
    assert len(finding.places) <= MAX_PLACES


def test_the_worst_comes_first():
    order = merged(
        seen("a", (0, 1)),
        seen("b", (5, 6), Severity.ERROR),
        seen("c", (2, 3), Severity.ERROR),
    )
    assert [finding.place.name for finding in order] == ["c", "b", "a"]


def test_getting_worse_is_news():
    findings = FindingSet()
    findings.add(seen("a", (0, 99)))
    assert len(findings.news()) == 1
    findings.add(seen("a", (0, 100)))
    assert findings.news() == ()
    findings.add(seen("a", (0, 101), Severity.ERROR))
    assert len(findings.news()) == 1


def test_what_was_found_was_checked():
    findings = FindingSet()
    findings.add(seen("a"))
    entries = [NotChecked("AAA001", "n", "r", "w"), NotChecked("AAA002", "n", "r", "w")]
    report = report_of(findings, entries)
    assert [entry.code for entry in report.not_checked] == ["AAA002"]
    assert not report.healthy


def test_a_cause_is_above_what_follows_from_it_whatever_was_found_first():
    findings = FindingSet({"AAA001": ("BBB001", "CCC001")})
    findings.add(seen("ab", (0, 1), Severity.ERROR))
    assert [each.follows for each in findings.news()] == [""]
    findings.add(seen("xb", (5, 6), code="CCC001"))
    findings.add(seen("z", (0, 1), Severity.ERROR, code="BBB001"))
    order = findings.sorted()
    assert [each.code for each in order] == ["CCC001", "AAA001", "BBB001"]
    assert [each.follows for each in order] == ["", "CCC001", ""]
    told = [(each.code, each.follows) for each in findings.news()]
    assert ("AAA001", "CCC001") in told


def at(*places, code="BBB001"):
    return dataclasses.replace(seen(code=code), places=tuple(places))


def test_a_module_is_a_cause_of_what_is_seen_at_its_parameters():
    findings = FindingSet({"AAA001": ("BBB001",)})
    findings.add(at(Place("param", "block.layer.weight"), code="AAA001"))
    findings.add(at(Place("module", "block.layer"), Place("config", "scaling")))
    assert [each.follows for each in findings.sorted()] == ["", "BBB001"]


def test_a_module_whose_name_only_begins_alike_is_no_cause():
    findings = FindingSet({"AAA001": ("BBB001",)})
    findings.add(at(Place("param", "block.layer2.weight"), code="AAA001"))
    findings.add(at(Place("module", "block.layer"), Place("config", "scaling")))
    assert [each.follows for each in findings.sorted()] == ["", ""]


def test_a_setting_alone_is_a_cause_wherever_the_symptom_is():
    findings = FindingSet({"AAA001": ("BBB001",)})
    findings.add(seen("a"))
    findings.add(at(Place("config", "lora_dropout")))
    assert [each.code for each in findings.sorted()] == ["BBB001", "AAA001"]


def test_the_nearer_of_two_causes_is_told():
    findings = FindingSet({"AAA001": ("CCC001", "BBB001"), "BBB001": ("CCC001",)})
    for code in ("AAA001", "BBB001", "CCC001"):
        findings.add(seen("a", code=code))
    order = findings.sorted()
    assert [each.code for each in order] == ["CCC001", "BBB001", "AAA001"]
    assert [each.follows for each in order] == ["", "CCC001", "BBB001"]


def test_two_that_cause_each_other_are_both_told():
    findings = FindingSet({"AAA001": ("BBB001",), "BBB001": ("AAA001",)})
    findings.add(seen("a"))
    findings.add(seen("a", code="BBB001"))
    assert {each.code for each in findings.sorted()} == {"AAA001", "BBB001"}


def test_a_symptom_of_the_whole_run_follows_from_any_error_wherever_it_is():
    findings = FindingSet({"AAA001": (ANY,)})
    findings.add(seen("a"))
    findings.add(seen("x", code="CCC001"))
    assert [each.follows for each in findings.sorted()] == ["", ""]
    findings.add(seen("y", (4, 4), Severity.ERROR, code="BBB001"))
    follows = {each.code: each.follows for each in findings.sorted()}
    assert follows == {"AAA001": "BBB001", "BBB001": "", "CCC001": ""}


def test_a_cause_of_another_rank_explains_nothing():
    findings = FindingSet({"AAA001": ("BBB001",)})
    findings.add(seen("a"))
    findings.add(seen("a", code="BBB001", rank=1))
    assert [each.follows for each in findings.sorted()] == ["", ""]
