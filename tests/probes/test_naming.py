import pytest
import torch
from peft import AdaLoraConfig, IA3Config, LoraConfig, get_peft_model
from transformers import T5Config, T5ForConditionalGeneration

from ftlab.probes.naming import (
    clean_name,
    layer_of,
    layers_of,
    named_parameters,
    named_trainables,
    role_of,
    roles_of,
)
from tests.models import tiny_llama, tiny_lora


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("module.model.norm.weight", "model.norm.weight"),
        ("_orig_mod.module.lm_head.weight", "lm_head.weight"),
        ("layers.0._fsdp_wrapped_module.mlp.weight", "layers.0.mlp.weight"),
        ("layers.0._orig_mod.mlp.weight", "layers.0.mlp.weight"),
        ("submodule.weight", "submodule.weight"),
    ],
)
def test_wrappers_leave_no_trace_in_a_name(name, clean):
    assert clean_name(name) == clean


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("model.layers.3.mlp.up_proj.weight", "layers.3"),
        ("transformer.h.11.attn.c_attn.weight", "h.11"),
        ("bert.encoder.layer.3.output.dense.weight", "layer.3"),
        ("model.layers.3.mlp.experts.5.gate.weight", "layers.3"),
        ("base_model.model.model.layers.0.q_proj.lora_A.default.weight", "layers.0"),
        ("base_model.model.model.layers.0.q_proj [default]", "layers.0"),
        ("base_model.model.lm_head [default]", "lm_head"),
        ("base_model.model.score.modules_to_save.default.weight", "score"),
        ("base_model.model.lm_head.lora_A.0.weight", "lm_head"),
        ("model.embed_tokens.weight", "embed_tokens"),
        ("model.norm", "norm"),
        ("lm_head.weight", "lm_head"),
        ("weight", "weight"),
        ("0.weight", "0"),
        ("base_model.model", "base_model"),
    ],
)
def test_a_name_tells_its_layer(name, layer):
    assert layer_of(name) == layer


def test_modules_outside_the_blocks_are_told_by_where_the_blocks_are():
    names = [
        "bert.embeddings.word.weight",
        "bert.encoder.layer.0.output.weight",
        "bert.pooler.dense.weight",
        "classifier.dense.weight",
    ]
    expected = ["embeddings", "layer.0", "pooler", "classifier"]
    assert list(layers_of(names).values()) == expected


def test_blocks_of_encoder_and_decoder_stay_apart():
    config = T5Config(
        vocab_size=32, d_model=8, d_kv=4, d_ff=8, num_layers=2, num_heads=2
    )
    layers = set(
        layers_of(
            name for name, _ in T5ForConditionalGeneration(config).named_parameters()
        ).values()
    )
    blocks = {f"{side}.block.{i}" for side in ("encoder", "decoder") for i in (0, 1)}
    norms = {"encoder.final_layer_norm", "decoder.final_layer_norm"}
    assert layers == {"shared", *blocks, *norms}


def test_names_are_those_of_the_model_in_its_order():
    model = tiny_lora()
    found = [(entry.name, id(entry.parameter)) for entry in named_trainables(model)]
    assert found == [(n, id(p)) for n, p in model.named_parameters() if p.requires_grad]


def test_tied_parameters_come_once_with_their_other_names():
    model = tiny_llama(tie_word_embeddings=True)
    (tied,) = [entry for entry in named_parameters(model) if entry.aliases]
    assert tied.name == "model.embed_tokens.weight"
    assert tied.aliases == ("lm_head.weight",)


def test_a_compiled_model_has_the_names_of_the_plain_one():
    model = tiny_lora()
    plain = [entry.name for entry in named_trainables(model)]
    wrapped = torch.compile(model, backend="aot_eager")
    assert [entry.name for entry in named_trainables(wrapped)] == plain


def test_roles_come_from_peft_s_classes():
    model = tiny_lora(
        use_dora=True, modules_to_save=["lm_head"], target_modules=["q_proj"]
    )
    model.add_adapter("late", LoraConfig(r=2, target_modules=["v_proj"]))
    roles, named = roles_of(model), dict(model.named_parameters())
    layer = "base_model.model.model.layers.0.self_attn"
    expected = {
        f"{layer}.q_proj.lora_A.default.weight": ("lora_A", "default"),
        f"{layer}.q_proj.lora_B.default.weight": ("lora_B", "default"),
        f"{layer}.q_proj.lora_magnitude_vector.default.weight": (
            "lora_magnitude",
            "default",
        ),
        f"{layer}.v_proj.lora_A.late.weight": ("lora_A", "late"),
        f"{layer}.q_proj.base_layer.weight": ("weight", ""),
        "base_model.model.lm_head.modules_to_save.default.weight": (
            "modules_to_save",
            "default",
        ),
    }
    for name, (role, adapter) in expected.items():
        found = roles[id(named[name])]
        assert (found.role, found.adapter) == (role, adapter)
    first = role_of(model, named[f"{layer}.q_proj.lora_A.default.weight"])
    assert first.module == f"{layer}.q_proj"
    assert set(roles) == {id(parameter) for parameter in named.values()}


def test_embedding_pairs_biases_and_other_methods_have_roles_of_their_own():
    def found(config):
        return {role.role for role in roles_of(get_peft_model(*config)).values()}

    embedding = LoraConfig(target_modules=["embed_tokens"])
    assert found((tiny_llama(), embedding)) == {
        "weight",
        "lora_embedding_A",
        "lora_embedding_B",
    }
    net = torch.nn.Sequential(torch.nn.Linear(2, 2))
    biased = LoraConfig(target_modules=["0"], lora_bias=True, r=1)
    assert found((net, biased)) == {"weight", "lora_A", "lora_B", "lora_bias"}
    ia3 = IA3Config(target_modules=["k_proj"], feedforward_modules=[])
    assert found((tiny_llama(), ia3)) == {"weight", "adapter"}
    adalora = AdaLoraConfig(total_step=9, target_modules=["k_proj"])
    assert found((tiny_llama(), adalora)) == {"weight", "lora_A", "lora_B", "adapter"}


def test_a_parameter_called_lora_a_without_peft_is_a_weight():
    model = torch.nn.Module()
    model.lora_A = torch.nn.Linear(2, 2)
    assert {role.role for role in roles_of(model).values()} == {"weight"}


def test_what_is_not_printable_is_escaped():
    model = torch.nn.Sequential()
    model.add_module("a\x1b[31m", torch.nn.Linear(2, 1))
    names = [entry.name for entry in named_parameters(model)]
    assert names == [r"a\x1b[31m.weight", r"a\x1b[31m.bias"]
