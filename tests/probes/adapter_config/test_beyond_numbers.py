"""Expressions that find a number by its beginning."""

import pytest

from ftlab.faults.adapter.placement.alpha_of_more_blocks import build
from ftlab.probes.adapter.adapter_tree import adapted_layers
from ftlab.probes.adapter_config.beyond_numbers import beyond_numbers, reached_by_number

NAMES = [f"layers.{number}.q" for number in range(12)]


@pytest.mark.parametrize("entry", ["layers.1.*", r"layers\.1.*", "(layers.1|x).*"])
def test_a_number_that_is_not_ended_finds_longer_ones(entry):
    assert reached_by_number(entry, NAMES) == ["layers.10.q", "layers.11.q"]


@pytest.mark.parametrize(
    "entry",
    [
        r"layers\.1\..*",
        r"layers\.(1|10|11)\..*",
        r"layers\.1\d*\..*",
        r"layers\.1[01]?\..*",
        r"layers\.1?[0-9]\..*",
        r"layers\.\d{1,2}\..*",
        r"layers\.1.\.q",
        "layers.*",
        "layers.(",
    ],
)
def test_what_asks_for_longer_numbers_finds_them_on_purpose(entry):
    assert reached_by_number(entry, NAMES) == []


def test_the_layers_are_named_as_in_the_model():
    model = build(False).model
    (config,) = model.peft_config.values()
    layers = list(adapted_layers(model))
    (found,) = beyond_numbers(config, layers, "base_model.model")[
        "alpha_pattern"
    ].values()
    assert found["count"] == 4
    assert found["names"][0] == "base_model.model.model.layers.10.self_attn.q_proj"
    (config,) = build(True).model.peft_config.values()
    assert beyond_numbers(config, layers, "base_model.model") == {}
