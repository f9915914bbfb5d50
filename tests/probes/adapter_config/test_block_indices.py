"""Which number layers_to_transform was compared with."""

import pytest
from torch import nn

from ftlab.faults.builders.many_ways import own_with_ways
from ftlab.faults.builders.tiny import llama, lora, own
from ftlab.faults.variation import Variation, varied
from ftlab.probes.adapter.adapter_tree import adapted_layers
from ftlab.probes.adapter_config.block_indices import misread_indices
from tests.versions import older_than

at_the_root = pytest.mark.skipif(
    older_than("peft", "0.21"), reason="PEFT 0.20 finds no layers_pattern at the root"
)

WIDE = {"target_modules": ["wide", "narrow"]}


def misread(model, **settings):
    model = lora(model, **settings)
    config = model.peft_config["default"]
    root, layers = model.base_model.model, list(adapted_layers(model))
    return misread_indices(config, layers, root, "base_model.model")


def built(model=own_with_ways):
    with varied(Variation(family="own")):
        return model()


def test_the_number_of_an_expert_at_the_root():
    found = misread(built(), layers_to_transform=[1], **WIDE)
    assert found["blocks"] == "tower"
    assert found["read"] == "tower.#.squeeze.paths"
    assert found["indices"] == [0, 1]
    assert found["outside"]["count"] == 2


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(
            {"layers_to_transform": [1], "layers_pattern": "tower"}, marks=at_the_root
        ),
        {"layers_to_transform": [1], "layers_pattern": "paths"},
        {"layers_to_transform": []},
        {"layers_to_transform": [0, 1]},
        {},
    ],
)
def test_what_was_asked_for_is_left_alone(settings):
    assert misread(built(), **WIDE, **settings) == {}


def test_blocks_below_two_names():
    assert misread(llama(), layers_to_transform=[1]) == {}


def test_the_number_of_an_expert_below_two_names():
    outer = nn.Module()
    outer.language = built()
    paths = [f"language.tower.{n}.squeeze.paths.1.wide" for n in range(2)]
    model = lora(outer, target_modules=paths)
    # So PEFT 0.19 reads the numbers: it takes the last one of a path.
    model.peft_config["default"].layers_to_transform = [1]
    config, root = model.peft_config["default"], model.base_model.model
    layers = list(adapted_layers(model))
    found = misread_indices(config, layers, root, "base_model.model")
    assert found["blocks"] == "language.tower"
    assert found["read"] == "language.tower.#.squeeze.paths"
    assert found["outside"]["count"] == 1


def test_blocks_in_towers_at_the_root():
    towers = nn.Module()
    towers.towers = nn.ModuleList([built(own), built(own)])
    assert misread(towers, layers_to_transform=[1], target_modules=["look"]) == {}
