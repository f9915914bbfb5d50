"""A few numbers of each base weight."""

import torch

from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.tensors.base_sample import (
    VALUES,
    WEIGHTS,
    base_changed,
    base_sample,
    spread,
)


def test_samples_the_adapted_weights():
    model = lora()
    sample = base_sample(model)
    name = "base_model.model.model.layers.0.self_attn.q_proj.base_layer.weight"
    weight = dict(model.named_parameters())[name]
    assert len(sample) == 4
    assert len(sample[name]["values"]) == VALUES
    assert set(sample[name]["values"]) <= set(weight.flatten().tolist())
    assert sample[name]["shape"] == [64, 64]


def test_a_merged_weight_is_no_base():
    model = lora()
    model.merge_adapter()
    assert base_sample(model) == {}
    model.unmerge_adapter()


def test_a_model_without_adapters_has_no_sample():
    assert base_sample(llama()) == {}


def test_two_bases_differ_and_one_does_not():
    assert base_sample(lora()) == base_sample(lora())
    assert base_sample(lora()) != base_sample(lora(llama(seed=7)))


def test_a_sample_of_bfloat16_holds_its_numbers():
    model = lora(llama().to(torch.bfloat16))
    (first, *_) = base_sample(model).values()
    assert first["dtype"] == "bfloat16"
    assert all(isinstance(value, float) for value in first["values"])


def test_spreads_over_the_whole_model():
    items = [str(number) for number in range(1000)]
    chosen = spread(items, WEIGHTS)
    assert (len(chosen), chosen[0], chosen[-1]) == (WEIGHTS, "0", "999")
    assert len(set(chosen)) == WEIGHTS


def test_a_share_that_was_added_by_hand_changes_the_base():
    model = lora()
    sample = base_sample(model)
    layer = model.base_model.model.model.layers[1].self_attn.v_proj
    model.unload()
    assert not base_changed(model, sample)
    layer.base_layer.weight.data += 1e-4
    assert base_changed(model, sample)
    assert not base_changed(model.to(torch.bfloat16), sample)
