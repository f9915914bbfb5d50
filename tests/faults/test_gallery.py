"""Each fault is found where it is, by the real recorder; healthy runs are not."""

import functools
from fnmatch import fnmatchcase

import pytest

from ftlab.faults.registry import list_faults, list_healthy, load
from ftlab.session.score import judge


def by_id(entry):
    return entry.id


@functools.cache
def sick_report(fault):
    """Judge a fault once; the report holds no live object."""
    return judge(fault.build(fixed=False), fault.steps)


@pytest.mark.parametrize("fault", list_faults(), ids=by_id)
def test_its_rule_finds_it_at_its_place(fault):
    report = sick_report(fault)
    found = [each for each in report.findings if each.code == fault.code]
    assert found, report
    places = [str(place) for each in found for place in each.places]
    assert any(fnmatchcase(p, wanted) for p in places for wanted in fault.places)
    assert {each.code for each in report.findings} <= {fault.code, *fault.also}
    for each in report.findings:
        assert 0 <= each.first_step <= each.last_step < fault.steps
        assert each.cause
        assert each.fix
        assert each.healthy
        assert "threshold" in each.evidence or "reason" in each.evidence


@pytest.mark.parametrize("fault", list_faults(), ids=by_id)
def test_its_healthy_twin_is_quiet(fault):
    report = judge(fault.build(fixed=True), fault.steps)
    assert report.findings == ()


@pytest.mark.parametrize("healthy", list_healthy(), ids=by_id)
def test_a_healthy_run_is_quiet(healthy):
    report = judge(healthy.build(), healthy.steps)
    assert report.findings == ()


REASONS = {
    "lora-b-frozen": "frozen",
    "lora-a-and-b-zero": "both-zero",
    "inference-mode-config": "inference-mode",
    "detach-breaks-graph": "graph-cut",
    "reentrant-checkpoint-embeds": "checkpoint-without-input-grad",
    "reentrant-checkpoint-frozen-stem": "graph-cut",
    "zero-grad-before-step": "zero-grad-before-step",
}


@pytest.mark.parametrize(("fault", "reason"), REASONS.items())
def test_the_reason_is_told_apart(fault, reason):
    report = sick_report(load(fault))
    (found,) = [each for each in report.findings if each.code == load(fault).code]
    assert found.evidence["reason"] == reason


CAUSES = {
    "zero-grad-before-step": ["GRD003", "ADP001"],
    "optimizer-stale-params": ["OPT001", "OPT002"],
}


@pytest.mark.parametrize(("fault", "codes"), CAUSES.items())
def test_the_cause_is_told_first_and_the_symptom_as_following(fault, codes):
    report = sick_report(load(fault))
    assert [each.code for each in report.findings] == codes
    assert [each.follows for each in report.findings] == ["", codes[0]]
