"""A head that a source has trained, and that its combination has not got."""

import pytest
import torch

from ftlab.faults.adapter.several_adapters.combined_with_rslora import two_trained
from ftlab.faults.builders.tiny import lora_config
from ftlab.probes.adapter_config.combined_heads import heads_left


def with_heads():
    """Build a model with two adapters that have heads, and one that has none."""
    model = two_trained(modules_to_save=["lm_head"])
    model.add_adapter("bare", lora_config(model.get_base_model()))
    return model, model.get_base_model().lm_head.modules_to_save


def test_heads_that_are_the_bases_are_all_alike():
    model, _ = with_heads()
    assert not heads_left(model, "other", ["default"])
    assert not heads_left(model, "bare", ["default"])


@pytest.mark.parametrize("name", ["other", "bare"])
def test_a_source_has_trained_what_the_sum_has_not(name):
    model, heads = with_heads()
    with torch.no_grad():
        heads["default"].weight[3, 5] += 1e-3
    assert heads_left(model, name, ["default"])
    assert not heads_left(model, name, [])


def test_a_head_of_its_own_is_as_good():
    model, heads = with_heads()
    with torch.no_grad():
        heads["default"].weight += 1e-3
        heads["other"].weight += 1e-4
    assert not heads_left(model, "other", ["default"])
