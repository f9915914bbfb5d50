"""GRD001."""

import math

import numpy as np
import pytest

from ftlab.rules.gradient.vanishing_gradient import (
    VanishingGradient,
    ratio_to_namesakes,
)
from tests.runs import RunBuilder, checker

check = checker(VanishingGradient())


def layers(*rows, loss=2.0, shape=(8, 8)):
    """One tensor per layer; a row holds their gradient norms at one step."""
    builder = RunBuilder()
    for index in range(len(rows[0])):
        builder.tensor(f"layers.{index}.w", f"layers.{index}", shape=shape)
    for row in rows:
        builder.step({"has_grad": 1.0, "grad_l2": row}, loss=loss)
    return builder


@pytest.mark.parametrize(("small", "found"), [(1.1e-4, 0), (0.9e-4, 1)])
def test_compares_with_the_largest_namesake(small, found):
    assert len(check(layers(*[(small, 0.5, 1.0)] * 6))) == found


@pytest.mark.parametrize(("steps", "found"), [(4, 0), (5, 1)])
def test_takes_five_steps_in_a_row(steps, found):
    rows = [(1.0, 1.0)] * 3 + [(1e-6, 1.0)] * steps + [(1.0, 1.0)] * 3
    findings = check(layers(*rows))
    assert len(findings) == found
    if found:
        assert (findings[0].first_step, findings[0].last_step) == (3, 7)
        assert findings[0].place.name == "layers.0.w"
        assert "steps 3-7" in findings[0].message
        assert "1e-06" in findings[0].message


def test_follows_an_explosion_if_it_began_on_the_way():
    small, even = (1e-6, 1.0), (1.0, 1.0)
    (later,) = check(layers(*[even] * 3, *[small] * 5))
    assert str(later.places[-1]) == "object gradients"
    (ever,) = check(layers(*[small] * 8))
    assert [place.kind for place in ever.places] == ["param"]


def test_a_bias_that_is_cancelled_is_not_counted():
    builder = RunBuilder()
    for index in range(2):
        builder.tensor(f"layers.{index}.weight")
        builder.tensor(f"layers.{index}.bias", shape=(8,))
    builder.steps(6, {"grad_l2": (1.0, 1e-9, 1.0, 1.0)})
    assert check(builder) == ()


def test_an_interruption_starts_anew():
    rows = ([(1e-6, 1.0)] * 4 + [(1.0, 1.0)]) * 3
    assert check(layers(*rows)) == ()


@pytest.mark.parametrize("gone", [0.0, math.nan])
def test_absent_gradients_are_not_small(gone):
    assert check(layers(*[(gone, 1.0, 1.0)] * 8)) == ()


def test_other_kinds_of_tensors_are_not_compared():
    builder = RunBuilder()
    builder.tensor("layers.0.norm", "layers.0")
    builder.tensor("layers.0.q_proj", "layers.0")
    builder.steps(8, {"grad_l2": (1e-9, 1.0)})
    assert check(builder) == ()


def test_experts_are_not_compared():
    builder = RunBuilder()
    for layer in range(2):
        for expert in range(2):
            text = f"layers.{layer}.experts.{expert}.w"
            builder.tensor(text, f"layers.{layer}")
    builder.steps(8, {"grad_l2": (1e-9, 1.0, 1.0, 1.0)})
    assert check(builder) == ()


def test_size_is_taken_out():
    builder = RunBuilder()
    builder.tensor("layers.0.w", "layers.0", shape=(1,))
    builder.tensor("layers.1.w", "layers.1", shape=(10**4, 10**6))
    builder.steps(8, {"grad_l2": (1e-4, 1.0)})
    assert check(builder) == ()


@pytest.mark.parametrize(("norm", "found"), [(1e-7, 0), (7e-8, 1)])
def test_all_gradients_below_adams_epsilon(norm, found):
    findings = check(layers(*[(norm, norm)] * 6))
    assert len(findings) == found
    if found:
        assert str(findings[0].place) == "object gradients"


def test_small_gradients_of_a_low_loss_are_earned():
    builder = layers((1.0, 1.0), loss=4.0)
    builder.steps(8, {"grad_l2": (1e-9, 1e-9)}, loss=0.01)
    assert check(builder) == ()


def test_ratios_agree_with_a_loop():
    rng = np.random.default_rng(0)
    builder = RunBuilder()
    for text in ("a.0.w", "b", "a.1.w", "a.0.v", "a.2.w", "a.1.v"):
        builder.tensor(text)
    rms = rng.random((4, 6)).astype(np.float32)
    rms[1, 0] = np.nan
    ratio = ratio_to_namesakes(rms, builder.tensors)
    for columns in ([0, 2, 4], [1], [3, 5]):
        for line in range(4):
            top = np.nanmax(rms[line, columns])
            for column in columns:
                expected = rms[line, column] / top
                assert ratio[line, column] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("ratio", "rate"), [((0.0, 4.2), 1), ((0.0, 0.2), 0)])
def test_lora_that_outgrew_its_weights_is_told_first(ratio, rate):
    builder = layers((1.0, 1.0))
    builder.pair("layers.0", "default")
    for step in range(12):
        measured = {"ratio": ratio[step]} if step < 2 else None
        builder.step({"has_grad": 1.0, "grad_l2": (1e-6, 1.0)}, measured, loss=2.0)
    (finding,) = check(builder)
    assert ("LoRA adds 4.2 times the weights" in finding.message) is bool(rate)
    assert ("learning rate is too high" in finding.cause) is bool(rate)
    assert ("saturated activation" in finding.fix) is not bool(rate)
