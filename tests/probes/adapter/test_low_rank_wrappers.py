"""Layers with a product of low rank around a frozen linear layer."""

from torch import nn

from ftlab.faults.builders.own_layers import with_directions
from ftlab.faults.builders.tiny import gpt2, llama, lora
from ftlab.probes.adapter.low_rank_wrappers import weight_of, wrappers


def found(model):
    return list(wrappers(model.named_modules()))


def test_layers_of_ones_own():
    each = found(with_directions(of_the_weight=True))
    assert {wrapper.path.rpartition(".")[2] for wrapper in each} == {"q_proj", "v_proj"}
    assert all(list(wrapper.vectors) == ["lengths"] for wrapper in each)
    assert {wrapper.base_path for wrapper in each} == {"layer"}


def test_layers_of_peft():
    each = found(lora(use_dora=True))
    assert len(each) == 4
    assert all(len(wrapper.vectors) == 1 for wrapper in each)
    assert [not wrapper.vectors for wrapper in found(lora())] == [True] * 4


def test_a_second_adapter_hides_what_the_first_one_does():
    model = lora()
    model.add_adapter("other", model.peft_config["default"])
    assert found(model) == []


def test_plain_models_have_none():
    assert found(llama().requires_grad_(False)) == []
    assert found(nn.Sequential(nn.Linear(2, 2))) == []


def test_transposed_weights_are_turned():
    layer = gpt2().transformer.h[0].attn.c_attn
    assert weight_of(layer).shape == layer.weight.T.shape


def test_a_weight_that_is_computed_is_none_of_them():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)).requires_grad_(False)
    assert found(nn.Sequential(nn.Sequential(layer))) == []
