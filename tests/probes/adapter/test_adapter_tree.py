"""Where PEFT is in a model."""

import torch
from peft import LoHaConfig, LoraConfig, get_peft_model, inject_adapter_in_model

from ftlab.faults.builders.tiny import fused_experts, llama, lora, own
from ftlab.probes.adapter.adapter_tree import (
    NAMES,
    adapted_layers,
    bounded,
    holders,
    plain_modules,
)


def paths(model):
    return [(holder.path, holder.kind, holder.root_path) for holder in holders(model)]


def test_a_wrapped_model():
    assert paths(lora()) == [("", "PeftModelForCausalLM", "base_model.model")]


def test_a_wrapped_model_inside_a_module_of_ones_own():
    outer = torch.nn.ModuleDict({"net": lora()})
    (found,) = paths(outer)
    assert found == ("net", "PeftModelForCausalLM", "net.base_model.model")


def test_a_wrapper_in_a_wrapper_outermost_first():
    assert [path for path, *_ in paths(lora(lora()))] == ["", "base_model.model"]


def test_an_adapter_that_transformers_added():
    model = llama()
    model.add_adapter(LoraConfig(target_modules=["q_proj"]), "mine")
    assert paths(model) == [("", "LlamaForCausalLM", "")]
    assert list(holders(model)[0].configs) == ["mine"]


def test_an_adapter_that_was_injected():
    model = inject_adapter_in_model(LoraConfig(target_modules=["look"]), own())
    assert paths(model) == [("", "OwnModel", "")]


def test_a_model_without_adapters():
    assert holders(llama()) == []
    assert list(adapted_layers(llama())) == []


def test_layers_with_their_adapters():
    model = lora()
    model.add_adapter("second", LoraConfig(target_modules=["v_proj"]))
    found = {layer.name: layer.adapters for layer in adapted_layers(model)}
    inside = "base_model.model.model.layers.0.self_attn"
    assert found[f"{inside}.q_proj"] == ("default",)
    assert found[f"{inside}.v_proj"] == ("default", "second")


def test_several_parameters_of_one_module():
    experts = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
    model = lora(fused_experts(num_hidden_layers=1), target_parameters=experts)
    found = {(layer.name, layer.parameter) for layer in adapted_layers(model)}
    module = "base_model.model.model.layers.0.mlp.experts"
    assert {(module, "gate_up_proj"), (module, "down_proj")} <= found


def test_plain_modules_are_those_of_before():
    before = {name for name, _ in llama().named_modules() if name}
    model = lora(modules_to_save=["lm_head"])
    assert {name for name, _ in plain_modules(model.base_model.model)} == before


def test_long_lists_are_cut_and_counted():
    found = bounded([str(number) for number in range(NAMES + 1)])
    assert found["count"] == NAMES + 1
    assert len(found["names"]) == NAMES


def test_a_layer_that_adapters_of_two_methods_share_has_one_name():
    config = LoHaConfig(target_modules=["q_proj"])
    model = get_peft_model(llama(), config, adapter_name="one", mixed=True)
    model.add_adapter("two", LoraConfig(target_modules=["q_proj"]))
    names = {layer.name for layer in adapted_layers(model)}
    assert sorted(name.rpartition(".layers.")[2] for name in names) == [
        "0.self_attn.q_proj",
        "1.self_attn.q_proj",
    ]
