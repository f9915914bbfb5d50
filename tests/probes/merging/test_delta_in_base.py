"""The slope of a base weight on its adapter's delta."""

import pytest
import torch

from ftlab.faults.builders.saved import loaded, saved, taught
from ftlab.faults.builders.tiny import base, lora
from ftlab.faults.variation import Variation, varied
from ftlab.probes.merging.delta_in_base import delta_in_base

FAMILIES = ("llama", "gpt2", "neox", "own")


def measured(merged, family="llama", rank=8):
    with varied(Variation(family=family, rank=rank)):
        trained, model = taught(), base()
        path = saved(trained, model)
        if merged:
            model = loaded(model, path).merge_and_unload()
        return delta_in_base(loaded(model, path))["default"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("merged", "slope"), [(False, 0.0), (True, 1.0)])
def test_is_one_where_it_is_merged_and_zero_where_not(family, merged, slope):
    row = measured(merged, family)
    assert len(row["slope"]) == len(row["modules"]) >= 2
    assert row["slope"] == pytest.approx([slope] * len(row["slope"]), abs=0.15)
    assert max(row["sigma"]) < 0.1


def test_agrees_with_the_whole_matrices():
    model = taught()
    row = delta_in_base(model)["default"]
    for module, slope in zip(row["modules"], row["slope"], strict=True):
        layer = model.get_submodule(module)
        weight = layer.base_layer.weight.double()
        delta = layer.get_delta_weight("default").double()
        plain = (weight * delta).sum() / delta.square().sum()
        assert slope == pytest.approx(float(plain), abs=1e-5)


def test_chance_is_measured_where_the_delta_adds_nothing():
    torch.manual_seed(0)
    slopes, sigmas = [], []
    for seed in range(40):
        with varied(Variation(seed=seed)):
            model = lora()
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    if "lora_B" in name:
                        parameter.normal_()
            row = delta_in_base(model)["default"]
            slopes += row["slope"]
            sigmas += row["sigma"]
    ratios = torch.tensor(slopes) / torch.tensor(sigmas)
    assert float(ratios.std()) == pytest.approx(1.0, abs=0.25)
    assert abs(float(ratios.mean())) < 0.3


def test_rank_one_has_no_off_diagonal():
    row = measured(merged=True, rank=1)
    assert row["slope"] == pytest.approx([1.0] * 4, abs=0.3)


def test_a_fresh_adapter_is_not_measured():
    assert delta_in_base(lora()) == {}


def test_dora_and_merged_adapters_are_not_measured():
    assert delta_in_base(taught(lora(use_dora=True))) == {}
    model = taught()
    model.merge_adapter()
    assert delta_in_base(model) == {}
    model.unmerge_adapter()


def test_an_adapter_of_nan_is_not_measured():
    model = taught()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.fill_(torch.nan)
    assert delta_in_base(model) == {}
