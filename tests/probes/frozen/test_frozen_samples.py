import torch

from ftlab.faults.builders.tiny import lora
from ftlab.probes.frozen.frozen_samples import FrozenSamples, layer_around


def looked(model):
    samples = FrozenSamples()
    samples.look(model)
    return samples


def names(samples):
    return {each.name for each in samples.weights()}


def test_all_that_is_frozen_is_sampled_the_model_s_own_weights_first():
    model = lora(modules_to_save=["lm_head"])
    model.add_adapter("b", model.peft_config["default"])
    frozen = {
        name
        for name, parameter in model.named_parameters()
        if not parameter.requires_grad
    }
    looks = looked(model)
    assert names(looks) == frozen
    adapters = {e.name for e in looks.weights() if e.role != "weight"}
    assert adapters == {n for n in frozen if ".b." in n or "modules_to" in n}
    assert all(e.layer == "" for e in looks.weights() if e.name in adapters)


def test_a_weight_under_an_adapter_knows_its_layer():
    layers = {e.name: e.layer for e in looked(lora()).weights()}
    path = "base_model.model.model.layers.0.self_attn.q_proj"
    assert layers[f"{path}.base_layer.weight"] == path
    assert layers["base_model.model.model.norm.weight"] == ""


def test_the_layer_may_stand_on_another_name_of_a_tied_weight():
    both = ["m.embed.weight", "m.head.base_layer.weight"]
    assert layer_around(both, {"m.head"}) == "m.head"
    assert layer_around(both[:1], {"m.head"}) == ""


def test_what_is_trained_later_is_dropped_and_sampled_anew_when_frozen_again():
    model = torch.nn.Linear(2, 2).requires_grad_(False)
    samples = looked(model)
    model.weight.requires_grad_(True)
    samples.look(model)
    assert names(samples) == {"bias"}
    model.weight.data.fill_(5)
    model.weight.requires_grad_(False)
    samples.look(model)
    (group,) = [g for g in samples.groups(model) if g.weights[0].name == "weight"]
    assert group.samples[0].tolist() == [5, 5, 5, 5]


def test_what_was_cast_cannot_be_compared():
    model = torch.nn.Linear(2, 2).requires_grad_(False)
    samples = looked(model)
    model.to(torch.bfloat16)
    assert samples.groups(model) == []


def test_a_weight_in_the_place_of_another_one_is_compared_with_it():
    model = torch.nn.Linear(2, 2).requires_grad_(False)
    samples = looked(model)
    before = model.bias.clone()
    model.bias = torch.nn.Parameter(before + 1, requires_grad=False)
    (group,) = [g for g in samples.groups(model) if g.weights[0].name == "bias"]
    assert torch.equal(group.now([0])[0], before + 1)
    assert torch.equal(group.samples[0], before)


def test_writes_that_torch_counts_are_noticed():
    model = torch.nn.Linear(2, 2).requires_grad_(False)
    samples = looked(model)
    assert not samples.written()
    model.weight.data.add_(1)  # not counted
    assert not samples.written()
    model.weight.add_(1)
    assert samples.written()


def test_nothing_to_sample_is_fine():
    model = torch.nn.Linear(2, 2)
    samples = looked(model)
    assert samples.groups(model) == []
