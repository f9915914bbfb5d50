"""What a configuration asked for, against what it matched."""

import pytest
from peft import LoraConfig

from ftlab.faults.builders.methods import rescaled
from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.adapter.adapter_tree import adapted_layers, plain_modules
from ftlab.probes.adapter_config.adapter_targets import (
    asked,
    leftovers,
    unheeded_exclusions,
)

PREFIX = "base_model.model"


def counts(**settings):
    model = lora(llama(), **settings)
    names = [name for name, _ in plain_modules(model.base_model.model)]
    config = model.peft_config["default"]
    return asked(config, names, list(adapted_layers(model)), PREFIX)


def test_each_name_of_a_list_is_counted():
    found = counts(target_modules=["q_proj", "self_attn.v_proj", "x_proj"])
    assert found["target_modules"] == {
        "q_proj": 2,
        "self_attn.v_proj": 2,
        "x_proj": 0,
    }


def test_a_regular_expression_is_one_entry():
    pattern = r"model\.layers\.\d\.mlp\.(up|down)_proj"
    assert counts(target_modules=pattern)["target_modules"] == {pattern: 4}


def test_names_that_only_end_alike_are_others():
    assert counts(target_modules=["q_proj", "proj"])["target_modules"]["proj"] == 0


def test_layers_are_counted_by_index():
    found = counts(layers_to_transform=[1, 5])
    assert found["layers_to_transform"] == {"1": 2, "5": 0}


def test_one_index_may_stand_alone():
    assert counts(layers_to_transform=1)["layers_to_transform"] == {"1": 2}


@pytest.mark.parametrize(
    ("key", "count"),
    [
        ("q_proj", 2),
        (r"layers\.0\.self_attn\.q_proj", 1),
        ("^q_proj", 0),
        ("proj", 0),
        ("q_proj.weight", 0),
        ("(", 0),
    ],
)
def test_patterns_match_up_to_the_end_as_peft_does(key, count):
    config = LoraConfig(target_modules=["q_proj"], rank_pattern={key: 2})
    model = lora(llama(), target_modules=["q_proj"])
    layers = list(adapted_layers(model))
    assert asked(config, [], layers, PREFIX)["rank_pattern"] == {key: count}


def test_modules_to_save_are_found_by_their_ends():
    found = counts(modules_to_save=["lm_head", "norm", "heads"])["modules_to_save"]
    assert found["lm_head"] == 1
    assert found["norm"] == 5, "input_layernorm ends so as well"
    assert found["heads"] == 0


def test_what_was_not_asked_for_is_left_out():
    assert set(counts()) == {"target_modules"}


def test_leftovers_are_not_targeted():
    model = lora(llama(), target_modules=["q_proj", "v_proj"])
    layers = list(adapted_layers(model))
    config = LoraConfig(target_modules=["v_proj"])
    left = leftovers(config, "default", layers, PREFIX)
    assert left["count"] == 2
    assert all(name.endswith("q_proj") for name in left["names"])
    assert leftovers(config, "other", layers, PREFIX)["count"] == 0


def test_adapted_children_of_an_excluded_module():
    model = lora(llama())
    layers = list(adapted_layers(model))
    config = LoraConfig(target_modules=["q_proj"], exclude_modules=["layers.1"])
    (entry,) = unheeded_exclusions(config, layers, PREFIX).items()
    assert entry[0] == "layers.1"
    assert entry[1]["count"] == 2
    config.exclude_modules = "layers.1"
    assert unheeded_exclusions(config, layers, PREFIX) == {}


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        (["down_proj"], {"down_proj": 2}),
        (r".*\.down_proj", {r".*\.down_proj": 2}),
        (r".*\.fc2", {r".*\.fc2": 0}),
    ],
)
def test_layers_that_ia3_scales_at_their_input(entries, found):
    model = rescaled(feedforward_modules=entries)
    config = model.peft_config["default"]
    layers = list(adapted_layers(model))
    assert asked(config, [], layers, PREFIX)["feedforward_modules"] == found
