"""Which layers of PEFT should begin as the layer under them."""

import pytest
import torch

from ftlab.faults.builders.methods import tuned
from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.adapter.fresh_layers import fresh_layers


def found(model):
    return list(fresh_layers(model.named_modules()))


def test_a_method_whose_default_changes_nothing():
    layers = found(tuned("LoHaConfig", llama()))
    assert len(layers) == 4
    one = layers[0]
    assert (one.adapter, one.method, one.field, one.asked) == (
        "default",
        "LOHA",
        "init_weights",
        True,
    )
    assert set(one.tensors) == {
        f"hada_{half}.default" for half in ("w1_a", "w1_b", "w2_a", "w2_b")
    }


@pytest.mark.parametrize("asked", [True, "gaussian"])
def test_other_starts_of_lora_are_left_alone(asked):
    assert found(lora(llama(), init_lora_weights=asked)) == []


def test_lora_that_asks_for_a_random_start():
    layers = found(lora(llama(), init_lora_weights=False))
    assert [layer.asked for layer in layers] == [False] * 4


@pytest.mark.parametrize("kind", ["FourierFTConfig", "C3AConfig"])
def test_methods_that_are_random_by_default_are_left_alone(kind):
    extra = {"block_size": 16} if kind.startswith("C3A") else {"n_frequency": 8}
    assert found(tuned(kind, llama(), **extra)) == []


def test_disabled_merged_and_frozen_layers_are_left_out():
    model = tuned("LoKrConfig", llama(), r=4)
    model.merge_adapter()
    assert found(model) == []
    model.unmerge_adapter()
    model.base_model.disable_adapter_layers()
    assert found(model) == []
    model.base_model.enable_adapter_layers()
    model.requires_grad_(False)
    assert found(model) == []


def test_the_base_is_computed_without_its_hooks():
    layer = found(tuned("LoKrConfig", llama(), r=4))[0]
    called = []
    layer.base.register_forward_hook(lambda *_: called.append(1))
    given = torch.randn(2, 3, layer.base.in_features)
    expected = torch.nn.functional.linear(given, layer.base.weight)
    assert torch.equal(layer.of_base(given), expected)
    assert called == []


def test_an_embedding_that_rescales_itself_is_left_out():
    model = llama()
    model.model.embed_tokens.max_norm = 1.0
    targets = ["embed_tokens", "q_proj"]
    layers = found(lora(model, target_modules=targets, init_lora_weights=False))
    assert {layer.path.rpartition(".")[2] for layer in layers} == {"q_proj"}
