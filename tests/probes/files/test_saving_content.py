"""What is within an object that is written, and whose tensors these are."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from ftlab.faults.builders.tiny import lora
from ftlab.probes.files import saving_content
from ftlab.probes.files.saving_content import tensors_in, weights_in


def weights_of(model):
    return {id(p): (name, p) for name, p in model.named_parameters()}


def found_in(content, model):
    mine, unknown = weights_in(tensors_in(content), weights_of(model))
    names = {id(p): name for name, p in model.named_parameters()}
    return sorted(names[key] for key in mine), unknown


MODEL = nn.Linear(3, 2)


@pytest.mark.parametrize(
    "content",
    [
        MODEL.state_dict(),
        {"state": {"model": MODEL.state_dict()}, "epoch": 3, "name": "x"},
        [MODEL.weight.data, MODEL.bias.detach()],
        MODEL,
        SimpleNamespace(model=nn.ModuleList([MODEL])),
        {k: v.clone() for k, v in MODEL.state_dict().items()},
        {f"module.{k}": v.double() + 1 for k, v in MODEL.state_dict().items()},
        {k: v.numpy() for k, v in MODEL.state_dict().items()},
    ],
)
def test_weights_are_found_wherever_they_lie(content):
    assert found_in(content, MODEL) == (["bias", "weight"], set())


def test_what_is_nobodys_is_told_by_its_size():
    vector = nn.utils.parameters_to_vector(MODEL.parameters())
    assert found_in([vector], MODEL) == ([], {8})


def test_states_of_generators_are_nothing():
    states = [torch.get_rng_state(), np.random.default_rng(0).integers(9, size=8)]
    assert found_in(states, MODEL) == ([], set())


def test_what_is_known_to_be_something_else_is_not_unknown():
    other = torch.zeros(5)
    places = {saving_content.place_of(other)}
    assert weights_in([("x", other)], weights_of(MODEL), places) == (set(), set())


def test_a_copy_is_the_adapters_whose_values_it_has():
    model = lora()
    model.add_adapter("other", model.peft_config["default"])
    pair = {
        name: p.detach().clone()
        for name, p in model.named_parameters()
        if "layers.0.self_attn.q_proj.lora_A" in name
    }
    (own,) = (value for name, value in pair.items() if ".default." in name)
    mine, _ = found_in({"model.layers.0.self_attn.q_proj.lora_A.weight": own}, model)
    assert mine == [name for name in pair if ".default." in name]
    changed = {"model.layers.0.self_attn.q_proj.lora_A.weight": own + 1}
    assert found_in(changed, model)[0] == sorted(pair)


def test_too_much_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(saving_content, "MOST", 10)
    assert tensors_in([[each] for each in range(20)]) is None


def test_what_holds_itself_is_looked_at_once():
    ring = {"weight": MODEL.weight}
    ring["self"] = ring
    assert len(tensors_in(ring)) == 1
