"""ADP041."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.adapter_never_invoked import ROWS, AdapterNeverInvoked
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run
from tests.runs import RunBuilder


def check(*counts, caller=""):
    builder = RunBuilder()
    adapter = {"invocation": {"tokens": [11, 12], "caller": caller}}
    wiring = {"adapters": {"default": adapter}}
    builder.facts(model={"adapters": wiring, "peft": {"default": {}}})
    for rows, invoked in counts:
        values = {"alora_rows": rows, "alora_invoked": invoked}
        builder.step(values=values)
    return Engine([AdapterNeverInvoked()]).check(builder.run).findings


@pytest.mark.parametrize(
    ("counts", "reason", "severity"),
    [
        ([(4, 0), (4, 0)], "never", Severity.ERROR),
        ([(4, 0), (4, 3)], "seldom", Severity.WARNING),
    ],
)
def test_rows_without_the_tokens(counts, reason, severity):
    (finding,) = check(*counts)
    assert finding.evidence["reason"] == reason
    assert finding.severity is severity
    assert str(finding.place) == "config alora_invocation_tokens"


@pytest.mark.parametrize("counts", [[(ROWS - 1, 0)], [(4, 4), (4, 0)], [(8, 8)], []])
def test_few_rows_or_enough_with_the_tokens_are_quiet(counts):
    assert check(*counts) == ()


def test_a_class_that_does_not_look_for_the_tokens():
    (finding,) = check((8, 8), caller="PeftModel")
    assert finding.evidence["reason"] == "not-passed-on"
    assert "CAUSAL_LM" in finding.fix


def test_an_empty_run_is_not_checked():
    report = Engine([AdapterNeverInvoked()]).check(Run())
    assert report.findings == ()
    assert len(report.not_checked) == 1
