import pytest
import torch
from peft import IA3Config, LoraConfig, get_peft_model

from ftlab.probes.model.model_facts import model_facts
from tests.models import tiny_4bit, tiny_llama, tiny_lora


def test_counts_parameters_and_names_dtype_and_device():
    model = tiny_lora(tiny_llama().bfloat16())
    facts = model_facts(model)
    assert facts["class"] == "PeftModelForCausalLM"
    assert facts["parameters"] == sum(p.numel() for p in model.parameters())
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert facts["trainable"] == trainable
    assert facts["dtype"] == "bfloat16"
    assert set(facts["dtypes"]) == {"bfloat16", "float32"}
    assert facts["device"] == "cpu"


def test_gives_each_adapter_s_configuration():
    model = tiny_lora(use_rslora=True)
    model.add_adapter("late", LoraConfig(r=2, target_modules=["q_proj"]))
    facts = model_facts(model)
    assert set(facts["peft"]) == {"default", "late"}
    assert facts["peft"]["default"]["r"] == 4
    assert facts["peft"]["default"]["use_rslora"] is True
    assert facts["peft"]["default"]["peft_type"] == "LORA"
    assert sorted(facts["peft"]["late"]["target_modules"]) == ["q_proj"]
    assert facts["active_adapters"] == ["default"]
    with model.disable_adapter():
        assert model_facts(model)["active_adapters"] == []
    ia3 = IA3Config(
        target_modules=["k_proj"], feedforward_modules=[], task_type="CAUSAL_LM"
    )
    assert model_facts(get_peft_model(tiny_llama(), ia3))["peft"]["default"]
    assert model_facts(tiny_llama())["peft"] == {}


def test_lists_4bit_layers_and_counts_what_they_stand_for(tmp_path):
    model = tiny_4bit(tmp_path)
    facts = model_facts(model)
    plain = tiny_llama(hidden_size=128)
    assert facts["parameters"] == sum(p.numel() for p in plain.parameters())
    assert "model.layers.0.self_attn.q_proj" in facts["quantized"]
    assert "lm_head" not in facts["quantized"]
    assert facts["dtype"] == "4bit"
    assert model_facts(plain)["quantized"] == []


@pytest.mark.parametrize("reentrant", [True, False])
def test_tells_checkpointing_and_its_variant(reentrant):
    model = tiny_lora()
    assert model_facts(model)["gradient_checkpointing"] is False
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    facts = model_facts(model)
    assert facts["gradient_checkpointing"] is True
    assert facts["checkpoint_reentrant"] is reentrant
    model.gradient_checkpointing_disable()
    assert model_facts(model)["gradient_checkpointing"] is False


def test_cannot_tell_checkpointing_of_an_unknown_model():
    facts = model_facts(torch.nn.Linear(2, 2))
    assert facts["gradient_checkpointing"] is None
    assert facts["checkpoint_reentrant"] is None
    assert "input_requires_grad_hook" not in facts


def test_sees_the_hook_that_lets_gradients_into_the_blocks():
    model = tiny_lora()
    assert model_facts(model)["input_requires_grad_hook"] is False
    model.enable_input_require_grads()
    assert model_facts(model)["input_requires_grad_hook"] is True


def test_groups_the_names_of_tied_parameters():
    tied = tiny_llama(tie_word_embeddings=True)
    assert model_facts(tied)["tied"] == [
        ["model.embed_tokens.weight", "lm_head.weight"]
    ]
    assert model_facts(tiny_llama())["tied"] == []


def test_tells_a_compiled_model():
    assert model_facts(tiny_llama())["compiled"] is False
    wrapped = model_facts(torch.compile(tiny_llama(), backend="aot_eager"))
    assert wrapped["compiled"] is True
    assert wrapped["class"] == "LlamaForCausalLM"
    model = tiny_llama()
    model.compile(backend="aot_eager")
    assert model_facts(model)["compiled"] is True


def test_lists_parts_in_another_mode_than_the_whole():
    model = tiny_llama().train()
    model.model.layers[1].eval()
    modes = model_facts(model)["training_modes"]
    assert modes == {"training": True, "differing": ["model.layers.1"]}


def test_tells_whether_ids_are_looked_up():
    assert model_facts(tiny_llama())["embeds"] is True
    assert model_facts(torch.nn.Linear(2, 2))["embeds"] is False
