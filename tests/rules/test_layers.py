"""What rules say, as items of a checklist."""

import dataclasses

import pytest

from ftlab.records.checklist import LAYERS, in_order
from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.layers import LAYER_OF_AREA, layer_of, rule_items
from ftlab.rules.registry import AREAS, all_rules, find_rule
from ftlab.rules.report import Report
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

FINDING = Finding(
    code="GRD003",
    name="gradient-not-reaching",
    severity=Severity.ERROR,
    message="step 1: 4 of 8 tensors received no gradient",
    cause="The graph is cut.",
    fix="Do not detach.",
    places=(Place("param", "a.weight"),),
    first_step=1,
    last_step=3,
    evidence={"lost": 4},
)


class Applies(Rule):
    """A rule that says whether it applies."""

    code, name, since, status = "OPT002", "parameters-without-optimizer", "0", "stable"
    answer: object = True

    def check(self, run):
        return iter(())

    def applies(self, run):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def only(report, *rules):
    return rule_items(Run(), report, rules)


def test_every_area_has_a_layer():
    assert set(LAYER_OF_AREA) == set(AREAS)
    assert {layer_of(rule) for rule in all_rules()} <= set(LAYERS)


def test_a_rule_may_choose_its_layer(monkeypatch):
    monkeypatch.setattr(Applies, "layer", "rollback")
    assert layer_of(Applies()) == "rollback"


def test_a_finding_is_a_failed_item_with_its_place():
    (item,) = only(Report((FINDING,)), find_rule("GRD003"))
    assert (item.layer, item.label, item.code) == ("numerics", "error", "GRD003")
    assert (item.says, item.cause) == (FINDING.message, FINDING.cause)
    assert item.fix == FINDING.fix
    assert item.places == FINDING.places
    assert item.evidence == {"lost": 4, "seen at": "steps 1-3"}


def test_what_a_finding_follows_from_is_said():
    follows = dataclasses.replace(FINDING, follows="OPT001")
    (item,) = only(Report((follows,)), find_rule("GRD003"))
    assert item.cause.endswith("Fix OPT001 first: this follows from it.")


def test_what_is_only_worth_knowing_is_noted_with_what_to_do():
    note = dataclasses.replace(FINDING, severity=Severity.INFO, message="worth knowing")
    (item,) = only(Report((note,)), find_rule("GRD003"))
    assert (item.status, item.noted, item.code) == ("passed", True, "GRD003")
    assert (item.says, item.fix) == ("worth knowing", FINDING.fix)


def test_a_warning_makes_the_rules_own_note_needless():
    note = dataclasses.replace(FINDING, severity=Severity.INFO, message="worth knowing")
    (item,) = only(Report((FINDING, note)), find_rule("GRD003"))
    assert item.status == "failed"


def test_what_all_rules_miss_for_one_reason_is_one_item():
    missing = [
        NotChecked(code, find_rule(code).name, f"{code} misses it", "record it")
        for code in ("GRD001", "GRD002")
    ]
    rules = [find_rule("GRD001"), find_rule("GRD002")]
    report = Report((), tuple(missing))
    (item,) = rule_items(Run(), report, rules, unrun=("no step", "mend it"))
    assert (item.says, item.fix) == ("no step", "mend it")
    assert item.name == "2 rules of layer numerics"
    assert item.evidence == {"rules": "GRD001, GRD002"}


def test_rules_that_miss_the_same_are_one_item():
    missing = [
        NotChecked(code, find_rule(code).name, "no step was recorded", "train a step")
        for code in ("GRD001", "GRD002")
    ]
    rules = [find_rule("GRD001"), find_rule("GRD002")]
    (item,) = only(Report((), tuple(missing)), *rules)
    assert (item.status, item.fix) == ("not checked", "train a step")
    assert item.evidence == {"rules": "GRD001, GRD002"}


def test_a_rule_that_waits_for_what_a_finding_prevents_is_left_out():
    waits = NotChecked("ADP001", "adapter-stuck-at-zero", "too early", "let it run")
    rules = [find_rule("ADP001"), find_rule("GRD003")]
    cut = only(Report((FINDING,), (waits,)), *rules)
    assert [item.code for item in cut] == ["GRD003"]
    note = dataclasses.replace(FINDING, severity=Severity.INFO)
    assert "ADP001" in {item.code for item in only(Report((note,), (waits,)), *rules)}


@pytest.mark.parametrize("answer", [False, RuntimeError("broken")])
def test_what_does_not_apply_is_left_out(monkeypatch, answer):
    monkeypatch.setattr(Applies, "answer", answer)
    assert only(Report(), Applies()) == []


def test_a_cause_is_read_before_the_worse_that_follows_from_it():
    cause = dataclasses.replace(FINDING, code="GRD002", severity=Severity.WARNING)
    symptom = dataclasses.replace(FINDING, follows="GRD002")
    rules = [find_rule("GRD002"), find_rule("GRD003")]
    items = in_order(only(Report((cause, symptom)), *rules))
    failed = [item for item in items if item.status == "failed"]
    assert [item.code for item in failed] == ["GRD002", "GRD003"]
    assert failed[0].severity == Severity.ERROR
