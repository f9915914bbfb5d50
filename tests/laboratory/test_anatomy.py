"""`ftlab.adapters` on LoRA: numbers against full matrices, states, names."""

import copy
import re
import time
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model

import ftlab
from ftlab.faults.builders.tiny import batches, gpt2, llama, lora, trainable
from ftlab.laboratory.spectra import spectrum
from ftlab.records.errors import BadValueError
from ftlab.records.places import place_of


def noisy(model: Any, scale: float = 0.1) -> Any:
    """Return a model whose adapters are drawn at random."""
    torch.manual_seed(3)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data.normal_(0, scale)
    return model


def test_singular_values_are_those_of_the_whole_product() -> None:
    model = noisy(lora())
    layers = {each.name: each for each in ftlab.adapters(model).anatomy.layers}
    for name, module in model.named_modules():
        if not hasattr(module, "lora_A"):
            continue
        whole = module.get_delta_weight("default").detach().double()
        values = torch.linalg.svdvals(whole)
        found = layers[name.removeprefix("base_model.model.")]
        assert found.singular_values == pytest.approx(values[:8].numpy(), rel=1e-5)
        assert float(values[8:].max()) < 1e-5 * float(values[0])
        energy = (values**2).cumsum(0) / (values**2).sum()
        assert found.rank_of(0.9) == int((energy < 0.9).sum()) + 1
        shares = values[:8] / values[:8].sum()
        entropy = float(-(shares * shares.log()).sum())
        assert found.effective_rank == pytest.approx(np.exp(entropy), rel=1e-5)
        norm = float(module.base_layer.weight.detach().double().norm())
        assert found.weight == pytest.approx(norm, rel=1e-5)


def test_directions_make_the_product_again() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(4, 30), torch.randn(20, 4)
    found = spectrum(a, b, -0.5)
    made = found.left @ torch.diag(found.values) @ found.right.T
    assert torch.allclose(made, -0.5 * b.double() @ a.double())


def test_one_used_direction_of_eight_is_told() -> None:
    model = noisy(lora())
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data[:, 1:] = 0
    view = ftlab.adapters(model)
    assert {each.rank_of(0.9) for each in view.anatomy.layers} == {1}
    assert all(each.effective_rank < 1.001 for each in view.anatomy.layers)
    assert "in 12% of the rank" in repr(view)


def test_a_fresh_adapter_changes_nothing() -> None:
    view = ftlab.adapters(lora(), batches()[0])
    assert {each.effect for each in view.anatomy.layers} == {0.0}
    assert view.anatomy.moved == 0.0
    assert "they change nothing" in repr(view)


def test_states_are_told_apart() -> None:
    model = noisy(lora())
    model.add_adapter("other", LoraConfig(target_modules=["q_proj"]))

    def states(model: Any) -> set[tuple[str, str]]:
        layers = ftlab.adapters(model, batches()[0]).anatomy.layers
        return {(each.adapter, each.state) for each in layers}

    assert states(model) == {("default", "active"), ("other", "inactive")}
    with model.disable_adapter():
        assert states(model) == {("default", "disabled"), ("other", "disabled")}
    model.set_adapter("other")
    assert ("other", "active") in states(model)
    model.merge_adapter()
    merged = ftlab.adapters(model, batches()[0])
    assert ("other", "merged") in states(model)
    assert "it is merged" in merged.anatomy.notes[0]


def test_what_is_saved_whole_is_a_layer_too() -> None:
    config = LoraConfig(
        target_modules=["q_proj"], modules_to_save=["lm_head"], task_type="CAUSAL_LM"
    )
    model = get_peft_model(llama(), config)
    head = model.base_model.model.lm_head.modules_to_save["default"]
    head.weight.data *= 1.5
    layers = ftlab.adapters(model, batches()[0]).anatomy.layers
    (found,) = [each for each in layers if each.place == "head"]
    assert found.method == "saved whole"
    assert found.effect == pytest.approx(0.5, rel=1e-5)


def test_four_bit_bases_are_measured() -> None:
    case = next(
        each for each in ftlab.faults.list_healthy() if each.id == "four-bit-base"
    ).build()
    noisy(case.model)
    view = ftlab.adapters(case.model, case.batches[0])
    assert all(each.effect > 0 and each.weight > 0 for each in view.anatomy.layers)
    assert not view.anatomy.notes


def test_transformers_own_adapters_are_found() -> None:
    model = llama()
    model.add_adapter(LoraConfig(target_modules=["v_proj"]), "mine")
    noisy(model)
    before = model.active_adapters()
    view = ftlab.adapters(model, batches()[0])
    assert {each.adapter for each in view.anatomy.layers} == {"mine"}
    assert view.anatomy.moved > 0
    assert model.active_adapters() == before
    assert ftlab.adapters(model, batches()[0]).anatomy.moved == view.anatomy.moved


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("model.layers.3.self_attn.k_proj", "layers.3.attention.k"),
        ("transformer.h.7.attn.c_attn", "layers.7.attention.qkv"),
        ("transformer.h.7.attn.c_proj", "layers.7.attention.out"),
        ("transformer.h.7.mlp.c_proj", "layers.7.mlp.down"),
        ("gpt_neox.layers.0.attention.query_key_value", "layers.0.attention.qkv"),
        ("gpt_neox.layers.0.mlp.dense_h_to_4h", "layers.0.mlp.up"),
        ("model.layers.1.input_layernorm", "layers.1.attention.pre.norm"),
        ("model.layers.1.post_attention_layernorm", "layers.1.mlp.pre.norm"),
        ("model.embed_tokens", "embedding"),
        ("lm_head", "head"),
        ("my.own.thing", "my.own.thing"),
    ],
)
def test_places_have_one_name_in_every_architecture(path: str, place: str) -> None:
    assert place_of(path) == place


def test_a_sandwich_norm_is_behind_the_attention() -> None:
    siblings = frozenset({"pre_feedforward_layernorm"})
    place = place_of("model.layers.1.post_attention_layernorm", siblings)
    assert place == "layers.1.attention.post.norm"


def test_gpt2_names_the_same_places() -> None:
    config = LoraConfig(target_modules=["c_attn", "c_proj"], fan_in_fan_out=True)
    model = get_peft_model(gpt2(), config)
    places = {each.place for each in ftlab.adapters(model).anatomy.layers}
    assert {"layers.0.attention.qkv", "layers.0.attention.out"} < places


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (llama, "has no adapter; wrap it in"),
        (lambda: 3, "must be a torch.nn.Module"),
    ],
)
def test_what_has_no_adapter_is_refused(given: Any, words: str) -> None:
    with pytest.raises(BadValueError, match=re.escape(words)):
        ftlab.adapters(given())


def test_training_goes_on_bit_equal() -> None:
    ends = []
    for looked in (False, True):
        torch.manual_seed(0)
        model = noisy(lora())
        optimizer = torch.optim.AdamW(trainable(model))
        for batch in batches()[:4]:
            model(**batch).loss.backward()
            if looked:
                ftlab.adapters(model, batch)
            optimizer.step()
            optimizer.zero_grad()
        ends.append((copy.deepcopy(model.state_dict()), torch.rand(1)))
    assert all(torch.equal(t, ends[1][0][n]) for n, t in ends[0][0].items())
    assert torch.equal(ends[0][1], ends[1][1])


@pytest.mark.slow
def test_a_layout_of_seven_billion_parameters_takes_below_a_minute() -> None:
    from transformers import AutoModelForCausalLM, LlamaConfig

    with torch.device("meta"):
        config = LlamaConfig()  # 32 layers of 4096
        model = AutoModelForCausalLM.from_config(config)
    began = time.process_time()
    adapted = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear"))
    for module in adapted.modules():
        for name in ("lora_A", "lora_B"):
            if hasattr(module, name):
                getattr(module, name).to_empty(device="cpu")
                torch.nn.init.normal_(getattr(module, name)["default"].weight, 0, 0.01)
    view = ftlab.adapters(adapted)
    assert len(view.anatomy.layers) == 224
    assert all(each.rank_of(0.9) > 8 for each in view.anatomy.layers)
    assert time.process_time() - began < 60


def test_alpha_and_r_are_told_as_the_factor_that_they_make() -> None:
    said = repr(ftlab.adapters(noisy(lora())))
    assert "B A is multiplied by 2 (alpha / r; rsLoRA would make it 5.66): " in said
    config = LoraConfig(r=4, lora_alpha=6, use_rslora=True, target_modules=["q_proj"])
    said = repr(ftlab.adapters(get_peft_model(llama(), config)))
    assert "multiplied by 3 (alpha / sqrt(r); alpha / r would make it 1.5)" in said


def test_a_batch_that_the_model_does_not_take_is_refused() -> None:
    model = noisy(lora())
    with pytest.raises(BadValueError, match="cannot be called with this batch"):
        ftlab.adapters(model, {"foo": torch.ones(2)})
    ids = torch.full((1, 4), 10**6)
    with pytest.raises(BadValueError, match="IndexError"):
        ftlab.adapters(model, {"input_ids": ids})
    assert model.training
