"""ADP017."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.scaling_off_configuration import ScalingOffConfiguration
from tests.runs import RunBuilder, found_by, only, places


def check(*scalings, r=8, alpha=16, rslora=False, **meta):
    builder = RunBuilder()
    for index in range(len(scalings)):
        facts = {"r": r, "alpha": alpha, "use_rslora": rslora} | meta
        builder.pair(f"layers.{index}", "default", **facts)
    builder.step(None, {"scaling": list(scalings)})
    return found_by(ScalingOffConfiguration(), builder.run)


def test_is_quiet_on_alpha_over_r_and_its_root():
    assert check(2.0, 2.0) == ()
    assert check(16 / 3, 16 / 3, r=3) == ()
    assert check(2.0, 2.0, r=64, rslora=True) == ()


def test_one_layer_that_was_scaled():
    finding = only(check(2.0, 8.0, 2.0), "warning")
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


def test_idle_adapters_beside_it_do_not_make_one_factor_many():
    builder = RunBuilder()
    for adapter, active in (("default", False), ("both", True)):
        for index in range(2):
            facts = {"r": 8, "alpha": 16, "active": active}
            builder.pair(f"layers.{index}", adapter, **facts)
    builder.step(None, {"scaling": [2.0, 2.0, 0.5, 0.5]})
    only(found_by(ScalingOffConfiguration(), builder.run), "info")


def test_two_adapters_each_at_a_strength_of_its_own_are_only_noted():
    builder = RunBuilder()
    for adapter in ("one", "two"):
        for index in range(2):
            builder.pair(f"layers.{index}", adapter, r=8, alpha=16)
    builder.step(None, {"scaling": [1.4, 1.4, 0.8, 0.8]})
    only(found_by(ScalingOffConfiguration(), builder.run), "info")


def test_the_configuration_says_whether_it_is_rslora():
    builder = RunBuilder()
    builder.pair("layers.0", "both", r=16, alpha=16, use_rslora=True)
    builder.facts(model={"peft": {"both": {"use_rslora": False}}})
    builder.step(None, {"scaling": [1.0]})
    assert found_by(ScalingOffConfiguration(), builder.run) == ()


def configured(alpha, *made, **config):
    builder = RunBuilder()
    for index, own in enumerate(made):
        builder.pair(f"layers.{index}", "default", r=8, alpha=own)
    builder.facts(model={"peft": {"default": {"lora_alpha": alpha} | config}})
    builder.step(None, {"scaling": [own / 8 for own in made]})
    return found_by(ScalingOffConfiguration(), builder.run)


def test_an_alpha_that_was_set_when_the_layers_were_there():
    finding = only(configured(64, 16, 16), "warning", reason="configuration")
    assert "4 times as strong" in finding.message
    assert places(finding) == ["config lora_alpha", "config scaling"]


def test_the_same_alpha_or_patterns_of_it_are_fine():
    assert configured(16, 16, 16) == ()
    assert configured(64, 16, 16, alpha_pattern={"q": 16}) == ()
    assert configured(64, 16, 32) == ()


def drifting(*scalings):
    builder = RunBuilder()
    builder.pair("layers.0", "default", r=8, alpha=16)
    builder.pair("layers.1", "default", r=8, alpha=16)
    for scaling in scalings:
        builder.step(None, {"scaling": [scaling, 2.0]})
    found = found_by(ScalingOffConfiguration(), builder.run)
    return [each for each in found if each.evidence["reason"] == "drift"]


@pytest.mark.parametrize("factor", [1.2, 0.7])
def test_finds_what_is_multiplied_again_and_again(factor):
    finding = only(drifting(*[2.0 * factor**step for step in range(6)]), "warning")
    assert places(finding) == ["module model.layers.0.q", "config scaling"]
    assert finding.evidence["last"] == pytest.approx(2.0 * factor**5, rel=1e-5)
    assert ("takes over" in finding.cause) == (factor > 1)


def test_evaluations_between_measurements_may_be_more_or_fewer():
    powers = [0, 1, 1, 2, 4, 4, 5, 6]
    assert drifting(*[2.0 * 1.1**each for each in powers])


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
    assert drifting(*scalings) == []


def test_stages_of_a_schedule_are_let_pass():
    stages = [2.0 * 0.5 ** (step // 6) for step in range(31)]
    assert drifting(*stages) == []
