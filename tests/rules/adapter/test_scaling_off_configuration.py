"""ADP017."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.scaling_off_configuration import ScalingOffConfiguration
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder
from tests.wired import places


def check(*scalings, r=8, alpha=16, rslora=False, **meta):
    builder = RunBuilder()
    for index in range(len(scalings)):
        facts = {"r": r, "alpha": alpha, "use_rslora": rslora} | meta
        builder.pair(f"layers.{index}", "default", **facts)
    builder.step(None, {"scaling": list(scalings)})
    return Engine([ScalingOffConfiguration()]).check(builder.run).findings


def test_is_quiet_on_alpha_over_r_and_its_root():
    assert check(2.0, 2.0) == ()
    assert check(16 / 3, 16 / 3, r=3) == ()
    assert check(2.0, 2.0, r=64, rslora=True) == ()


def test_one_layer_that_was_scaled():
    (finding,) = check(2.0, 8.0, 2.0)
    assert finding.severity is Severity.WARNING
    assert places(finding) == ["module model.layers.1.q", "config scaling"]
    assert finding.evidence["largest_factor"] == pytest.approx(4.0)


def test_all_layers_by_one_factor_are_only_noted():
    assert [f.severity for f in check(1.0, 1.0)] == [Severity.INFO]
    assert [f.severity for f in check(1.0, 4.0)] == [Severity.WARNING]


def test_zero_and_inactive_pairs_are_other_matters():
    assert check(0.0, 0.0) == ()
    assert check(8.0, 8.0, active=False) == ()


@pytest.mark.parametrize(("scaling", "found"), [(2 * (1 + 2e-7), 0), (2.00001, 1)])
def test_rounding_is_no_difference(scaling, found):
    assert len(check(scaling)) == found
