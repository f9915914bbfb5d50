"""Facts of how PEFT was put on."""

import json

import torch

from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.adapter_config.adapter_facts import adapter_facts, configurations


def test_a_model_without_adapters_has_none():
    assert adapter_facts(llama()) == {}
    assert configurations(llama()) == {}


def test_facts_of_a_healthy_adapter():
    facts = adapter_facts(lora(lora_dropout=0.1))
    parts = {
        "chain",
        "adapters",
        "blocks",
        "heads",
        "outside",
        "idle_copies",
        "quantised",
    }
    assert set(facts) == parts | {"combinations"}
    assert facts["combinations"] == {}
    assert facts["idle_copies"] == {}
    mine = facts["adapters"]["default"]
    assert mine["type"] == "LORA"
    assert mine["layers"] == 4
    assert mine["patterns"]["model.layers.#.self_attn.q_proj"] == 2
    assert mine["switched_off"] == {}
    assert mine["init"] is True
    assert mine["leftover"]["count"] == 0
    assert facts["heads"] == []
    assert facts["outside"] == {}
    json.dumps(facts)


def test_configurations_are_found_inside_a_module_of_ones_own():
    outer = torch.nn.ModuleDict({"net": lora()})
    assert configurations(outer)["default"]["r"] == 8


def test_facts_stay_small_for_many_layers():
    few = len(json.dumps(adapter_facts(lora(llama(num_hidden_layers=2)))))
    deep = llama(num_hidden_layers=40, hidden_size=16, intermediate_size=16)
    assert len(json.dumps(adapter_facts(lora(deep)))) < 16 * few


def test_reading_changes_nothing():
    model = lora(modules_to_save=["lm_head"])
    before = {name: value.clone() for name, value in model.state_dict().items()}
    asked = [parameter.requires_grad for parameter in model.parameters()]
    state = torch.get_rng_state()
    adapter_facts(model)
    assert torch.equal(state, torch.get_rng_state())
    assert asked == [parameter.requires_grad for parameter in model.parameters()]
    assert all(torch.equal(before[n], v) for n, v in model.state_dict().items())
