"""ADP041."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.adapter_tokens_never_seen import (
    ROWS,
    STEPS,
    AdapterTokensNeverSeen,
)
from tests.runs import RunBuilder, found_by, only, report_by


def check(*counts, caller=""):
    builder = RunBuilder()
    adapter = {"invocation": {"tokens": [11, 12], "caller": caller}}
    wiring = {"adapters": {"default": adapter}}
    builder.facts(model={"adapters": wiring, "peft": {"default": {}}})
    for rows, invoked in counts:
        values = {"alora_rows": rows, "alora_invoked": invoked}
        builder.step(values=values)
    return found_by(AdapterTokensNeverSeen(), builder.run)


@pytest.mark.parametrize(
    ("counts", "reason", "severity"),
    [
        ([(4, 0), (4, 0)], "never", Severity.ERROR),
        ([(4, 0), (4, 3)], "seldom", Severity.WARNING),
    ],
)
def test_rows_without_the_tokens(counts, reason, severity):
    finding = only(check(*counts), severity.label, "config alora_invocation_tokens")
    assert finding.evidence["reason"] == reason


@pytest.mark.parametrize("counts", [[(ROWS - 1, 0)], [(4, 4), (4, 0)], [(8, 8)], []])
def test_few_rows_or_enough_with_the_tokens_are_quiet(counts):
    assert check(*counts) == ()


def test_a_class_that_does_not_look_for_the_tokens():
    finding = only(check((8, 8), caller="PeftModel"), reason="not-passed-on")
    assert "CAUSAL_LM" in finding.fix


def seeing(seen):
    builder = RunBuilder()
    for each in seen:
        builder.step(values={"tokens_trained": 3, "tokens_seen": each})
    return found_by(AdapterTokensNeverSeen(), builder.run)


def test_tokens_that_never_come_up_are_noted():
    only(seeing([0] * STEPS), "info", "config trainable_token_indices")


@pytest.mark.parametrize("seen", [[0] * (STEPS - 1), [0] * STEPS + [1], [3] * STEPS])
def test_few_steps_and_tokens_that_came_up_are_quiet(seen):
    assert seeing(seen) == ()


def test_a_run_without_such_rows_is_left_out():
    builder = RunBuilder().facts(model={"adapters": {}})
    builder.step()
    report = report_by(AdapterTokensNeverSeen(), builder.run)
    assert (report.findings, report.not_checked) == ((), ())
