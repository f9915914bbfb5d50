import pytest
import torch

from ftlab.faults.adapter.several_adapters.combined_with_rslora import (
    combine,
    two_trained,
)
from ftlab.faults.builders.tiny import lora
from ftlab.faults.variation import Variation, varied
from ftlab.probes.adapter_config.combined import combinations
from tests.versions import older_than


def combined(weights, kind="cat", **settings):
    model = two_trained(**settings)
    combine(model, list(weights), kind)
    return model


below_zero = pytest.mark.skipif(
    older_than("peft", "0.18"), reason="PEFT 0.17 takes roots of negative weights"
)


@pytest.mark.parametrize(
    ("kind", "second"),
    [
        ("cat", -0.5),
        ("linear", 0.5),
        pytest.param("linear", -0.5, marks=below_zero),
    ],
)
def test_weights_are_those_that_were_asked_for(kind, second):
    every = combinations(combined((0.75, second), kind))
    assert set(every) == {"both"}
    found = every["both"]
    asked = {"default": 0.75, "other": second}
    assert found["weights"] == pytest.approx(asked, abs=0.2 * (kind == "linear") + 1e-4)
    assert found["scaling"] == 1.0
    assert found["layers"] == 4
    assert found["lost"] == []


def test_rslora_makes_them_larger_by_the_scaling():
    found = combinations(combined((0.75, 0.5), use_rslora=True))["both"]
    assert found["scaling"] == pytest.approx(4.0)
    assert found["weights"] == pytest.approx({"default": 3.0, "other": 2.0}, rel=1e-4)


def test_the_weights_are_those_of_the_full_products():
    model = combined((0.75, 0.5), "svd")
    found = combinations(model)["both"]["weights"]
    layers = [m for m in model.modules() if hasattr(m, "get_delta_weight")]
    slopes = []
    for layer in layers:
        names = ("default", "other", "both")
        deltas = [layer.get_delta_weight(n).detach().flatten() for n in names]
        sources = torch.stack(deltas[:2], 1)
        slopes.append(torch.linalg.lstsq(sources, deltas[2][:, None]).solution[:, 0])
    medians = torch.stack(slopes).median(0).values.tolist()
    assert list(found.values()) == pytest.approx(medians, rel=1e-3)


def test_adapters_of_their_own_are_no_sums():
    assert combinations(lora()) == {}
    assert combinations(two_trained()) == {}


def test_a_sum_that_was_trained_on_is_one_no_more():
    model = combined((0.5, 0.5))
    for name, parameter in model.named_parameters():
        if "lora_A.both" in name:
            parameter.data += 0.05 * torch.randn_like(parameter)
    assert combinations(model) == {}


def test_magnitudes_that_were_learned_and_are_not_in_the_sum():
    model = two_trained(use_dora=True)
    combine(model, [0.5, 0.5], "cat")
    assert combinations(model)["both"]["lost"] == []
    for name, parameter in model.named_parameters():
        if "magnitude_vector.other" in name:
            parameter.data *= 1.2
    assert combinations(model)["both"]["lost"] == ["magnitudes"]


def test_biases_that_were_learned_and_are_not_in_the_sum():
    with varied(Variation(family="gpt2")):
        model = two_trained(lora_bias=True)
        for name, parameter in model.named_parameters():
            if name.endswith("lora_B.other.bias"):
                parameter.data += 0.1
        combine(model, [0.5, 0.5], "cat")
    assert combinations(model)["both"]["lost"] == ["biases"]


def test_a_term_is_no_sum_of_the_sum_and_the_other_terms():
    model = two_trained(r=4, lora_alpha=4)
    combine(model, [0.75, 0.5], "cat")
    assert set(combinations(model)) == {"both"}
    model.set_adapter("default")
    assert combinations(model) == {}
