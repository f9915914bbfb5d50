"""The parameters that PEFT added, by part."""

import torch
from peft import PromptTuningConfig, get_peft_model

from ftlab.faults.builders.tiny import gpt2, llama, lora
from ftlab.probes.adapter.adapter_tree import holders
from ftlab.probes.adapter_config.adapter_parts import (
    FEW,
    adapter_parts,
    outside_facts,
    part_facts,
)


def parts_of(model, adapter="default"):
    return adapter_parts(model, holders(model))[adapter]


def test_parts_of_dora_with_a_kept_head():
    parts = parts_of(lora(use_dora=True, modules_to_save=["lm_head"]))
    assert set(parts) == {"lora_A", "lora_B", "lora_magnitude", "modules_to_save"}
    facts = part_facts(parts["lora_B"])
    assert (facts["tensors"], facts["trainable"]) == (4, 4)
    assert facts["dtypes"] == {"float32": 4}
    assert "frozen" not in facts


def test_a_learned_prompt_is_a_part():
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=5)
    parts = parts_of(get_peft_model(llama(), config))
    assert part_facts(parts["prompt"])["elements"] == 5 * 64


def test_what_is_frozen_is_named_and_whether_it_is_zero():
    model = lora()
    for name, parameter in model.named_parameters():
        if ".layers.0." in name:
            parameter.requires_grad_(False)
    parts = parts_of(model)
    facts = part_facts(parts["lora_B"])
    assert facts["trainable"] == 2
    assert facts["frozen"] == facts["frozen_zero"]
    assert facts["frozen"]["count"] == 2
    assert part_facts(parts["lora_A"])["frozen_zero"]["count"] == 0


def test_of_a_part_that_is_frozen_as_a_whole_some_names_do():
    model = lora(llama(num_hidden_layers=FEW)).requires_grad_(False)
    frozen = part_facts(parts_of(model)["lora_A"])["frozen"]
    assert frozen["count"] == 2 * FEW
    assert len(frozen["names"]) == FEW


def test_zeros_are_not_read_of_weights_that_are_elsewhere():
    with torch.device("meta"):
        model = lora(llama()).requires_grad_(False)
    for entries in parts_of(model).values():
        assert part_facts(entries)["frozen_zero"]["count"] == 0


def outside(model):
    found = outside_facts(model, adapter_parts(model, holders(model)))
    return {kind: listed["count"] for kind, listed in found.items()}


def test_nothing_is_outside_of_a_healthy_adapter():
    assert outside(lora(modules_to_save=["lm_head"])) == {}


def test_what_is_outside_is_told_apart():
    assert outside(lora(gpt2(), bias="all")) == {"biases": 13}
    model = lora()
    model.base_model.model.model.norm.weight.requires_grad_(True)
    assert outside(model) == {"others": 1}
    assert outside(lora().requires_grad_(True))["under"] == 4
