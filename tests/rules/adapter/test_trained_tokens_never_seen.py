"""ADP042."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.trained_tokens_never_seen import STEPS, TrainedTokensNeverSeen
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run
from tests.runs import RunBuilder


def check(seen):
    builder = RunBuilder()
    for each in seen:
        builder.step(values={"tokens_trained": 3, "tokens_seen": each})
    return Engine([TrainedTokensNeverSeen()]).check(builder.run).findings


def test_tokens_that_never_come_up_are_noted():
    (finding,) = check([0] * STEPS)
    assert finding.severity is Severity.INFO
    assert str(finding.place) == "config trainable_token_indices"


@pytest.mark.parametrize("seen", [[0] * (STEPS - 1), [0] * STEPS + [1], [3] * STEPS])
def test_few_steps_and_tokens_that_came_up_are_quiet(seen):
    assert check(seen) == ()


def test_a_run_without_such_rows_is_left_out():
    builder = RunBuilder()
    builder.step()
    report = Engine([TrainedTokensNeverSeen()]).check(builder.run)
    assert (report.findings, report.not_checked) == ((), ())


def test_an_empty_run_is_not_checked():
    report = Engine([TrainedTokensNeverSeen()]).check(Run())
    assert report.findings == ()
    assert len(report.not_checked) == 1
