"""Linear layers on both sides of quantisation."""

import pytest

from ftlab.faults.builders.blocks import four_bit
from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.adapter_config.quantised_layers import FEW, quantised_layers

pytest.importorskip("bitsandbytes")


def counts(model):
    found = quantised_layers(model.base_model.model, "base_model.model")
    return {kind: names["count"] for kind, names in found.items()}


def test_layers_are_sorted_by_quantisation_and_adapter():
    model = lora(four_bit(llama(hidden_size=128)), target_modules=["lm_head", "q_proj"])
    assert counts(model) == {
        "bare": 12,
        "adapted": 2,
        "plain_bare": 0,
        "plain_adapted": 1,
    }
    found = quantised_layers(model.base_model.model, "base_model.model")
    assert found["plain_adapted"]["names"] == ["base_model.model.lm_head"]
    assert all(name.startswith("base_model.model.model.") for name in _names(found))


def _names(found):
    return [*found["bare"]["names"], *found["adapted"]["names"]]


def test_nothing_is_said_of_a_model_in_floating_point():
    assert counts(lora()) == {}


def test_names_are_cut_at_a_bound():
    depth = FEW // 5 + 1
    model = lora(four_bit(llama(hidden_size=128, num_hidden_layers=depth)))
    bare = quantised_layers(model.base_model.model, "")["bare"]
    assert (bare["count"], len(bare["names"])) == (5 * depth, FEW)
