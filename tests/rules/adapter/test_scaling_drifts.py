"""ADP057."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.scaling_drifts import ScalingDrifts
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora
from tests.wired import places


def check(*scalings):
    builder = RunBuilder()
    builder.pair("layers.0", "default", r=8, alpha=16)
    builder.pair("layers.1", "default", r=8, alpha=16)
    for scaling in scalings:
        builder.step(None, {"scaling": [scaling, 2.0]})
    return Engine([ScalingDrifts()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([ScalingDrifts()]).check(healthy_lora().run).findings == ()


@pytest.mark.parametrize("factor", [1.2, 0.7])
def test_finds_what_is_multiplied_again_and_again(factor):
    (finding,) = check(*[2.0 * factor**step for step in range(6)])
    assert finding.severity is Severity.WARNING
    assert places(finding) == ["module model.layers.0.q", "config scaling"]
    assert finding.evidence["last"] == pytest.approx(2.0 * factor**5, rel=1e-5)
    assert ("takes over" in finding.cause) == (factor > 1)


def test_evaluations_between_measurements_may_be_more_or_fewer():
    powers = [0, 1, 1, 2, 4, 4, 5, 6]
    assert check(*[2.0 * 1.1**each for each in powers])


@pytest.mark.parametrize(
    "scalings",
    [
        [2.0] * 8,
        [2.0] * 4 + [4.0] * 4,
        [2.0, 2.2, 2.42, 2.662],
        [2.0, 2.2, 2.42, 2.2, 2.0, 2.2, 2.42],
        [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0],
        [2.0, 2.2, 2.42, 2.662, 2.928, 2.928, 2.928, 2.928],
        [0.0, 1.0, 2.0, 4.0, 8.0, 16.0],
    ],
)
def test_changes_and_schedules_are_let_pass(scalings):
    assert check(*scalings) == ()


def test_stages_of_a_schedule_are_let_pass():
    stages = [2.0 * 0.5 ** (step // 6) for step in range(31)]
    assert check(*stages) == ()
