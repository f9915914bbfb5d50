"""ADP018."""

import math
from itertools import zip_longest

import pytest

from ftlab.rules.adapter.scaling_too_large import ScalingTooLarge
from tests.runs import RunBuilder, found_by, only

LOSSES = (2.0, 2.1, *[1.99] * 14)


def check(ratios, *, r=64, alpha=128, rslora=True, pairs=3, large=None, losses=LOSSES):
    builder = RunBuilder()
    for index in range(pairs):
        mine = alpha if large is None or index < large else 1
        facts = {"r": r, "alpha": mine, "use_rslora": rslora}
        builder.pair(f"layers.{index}", "default", **facts)
    # Adapters are not measured at each step.
    for ratio, loss in zip_longest(ratios, losses):
        adapters = None if ratio is None else {"ratio": ratio}
        builder.step(None, adapters, loss=losses[-1] if loss is None else loss)
    return found_by(ScalingTooLarge(), builder.run)


def test_an_adapter_that_outgrows_the_weight():
    finding = only(check([0.0, 0.6, 1.2]), "error", "config lora_alpha", scaling=16)
    assert str(finding.places[1]) == "config use_rslora"
    assert "lora_alpha=16" in finding.fix


@pytest.mark.parametrize(
    ("losses", "severity"),
    [
        ((2.0, 2.1, *[1.97] * 14), "info"),
        ((2.0, *[3.0] * 12, *[1.97] * 12), "error"),
        ((2.0, *[3.0] * 12, *[1.97] * 13), "info"),
        ((2.0, *[1.5] * 52, *[2.0] * 12), "info"),
        ((2.0, *[1.5] * 51, *[2.0] * 13), "error"),
        ((2.0, *[2.0] * 64, *[1.5] * 99), "error"),
        ((2.0, 2.1, *[math.nan] * 14), "error"),
        ((2.0, 2.1, *[2.1] * 13), "info"),
    ],
)
def test_an_adapter_that_outgrows_the_weight_and_learns_is_noted(losses, severity):
    (finding,) = check([0.0, 0.6, 1.2], losses=losses)
    assert finding.severity.label == severity


def test_without_the_root_the_flag_is_no_place():
    (finding,) = check([0.0, 3.0], r=8, alpha=512, rslora=False)
    assert [str(place) for place in finding.places[:2]] == [
        "config lora_alpha",
        "config scaling",
    ]


@pytest.mark.parametrize(("ratio", "severity"), [(1.0, "info"), (1.01, "error")])
def test_a_double_alpha_is_noted_until_the_adapter_has_grown(ratio, severity):
    (finding,) = check([0.0, ratio])
    assert finding.severity.label == severity


@pytest.mark.parametrize(("alpha", "found"), [(63, 0), (64, 1)])
def test_a_scaling_below_eight_is_left_to_the_learning_rate(alpha, found):
    assert len(check([0.0, 5.0], alpha=alpha)) == found


def test_alpha_as_large_as_the_rank_is_quiet_while_the_adapter_is_small():
    assert check([0.0, 0.5], alpha=64) == ()


def test_an_adapter_that_starts_large_has_not_grown():
    assert check([1.5, 1.6], alpha=64) == ()


def test_only_the_first_steps_are_judged():
    assert check([0.0] * 64 + [5.0], alpha=64) == ()
    assert len(check([0.0] * 63 + [5.0], alpha=64)) == 1


@pytest.mark.parametrize(("large", "found"), [(2, 0), (3, 1)])
def test_more_than_half_of_the_pairs_must_be_scaled_so(large, found):
    assert len(check([0.0, 5.0], pairs=4, large=large)) == found
