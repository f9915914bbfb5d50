"""Every method of PEFT's registry: state, norm and effect, each computed twice."""

import math
import os
import warnings
from typing import Any
from unittest import mock

import pytest
import torch
from peft import PeftType, get_peft_model
from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING

import ftlab
from ftlab.faults.builders.tiny import batches, llama, trainable
from tests.models import update

OF_ITS_OWN = {"XLORA": "test_xlora.py: it weighs adapters that are on disk"}
PROJECTIONS = {"target_modules": ["q_proj", "v_proj"]}
VIRTUAL = {"num_virtual_tokens": 4}
SETTINGS: dict[str, dict[str, Any]] = {
    "ADAMSS": {**PROJECTIONS, "r": 8, "num_subspaces": 3},
    "ADALORA": {**PROJECTIONS, "total_step": 20},
    "ADAPTION_PROMPT": {"adapter_layers": 2, "adapter_len": 4},
    "BOFT": {**PROJECTIONS, "boft_block_size": 4},
    "C3A": {**PROJECTIONS, "block_size": 8},
    "CARTRIDGE": VIRTUAL,
    "CPT": {
        "cpt_token_ids": [1, 2, 3],
        "cpt_mask": [1, 1, 1],
        "cpt_tokens_type_mask": [1, 2, 3],
    },
    "FOURIERFT": {**PROJECTIONS, "n_frequency": 20},
    "IA3": {
        "target_modules": ["k_proj", "v_proj", "down_proj"],
        "feedforward_modules": ["down_proj"],
    },
    "LN_TUNING": {"target_modules": ["input_layernorm", "post_attention_layernorm"]},
    "MULTITASK_PROMPT_TUNING": {**VIRTUAL, "num_tasks": 2},
    "OFT": {**PROJECTIONS, "oft_block_size": 4, "r": 0},
    "PREFIX_TUNING": VIRTUAL,
    "PROMPT_TUNING": VIRTUAL,
    "P_TUNING": {**VIRTUAL, "encoder_hidden_size": 32},
    "ROAD": {**PROJECTIONS, "group_size": 16},
    "SHADOW": {},
    "SHIRA": {**PROJECTIONS, "r": 4},
    "TRAINABLE_TOKENS": {"token_indices": [47, 20], "target_modules": ["embed_tokens"]},
    "VBLORA": {**PROJECTIONS, "vector_length": 16, "num_vectors": 16, "topk": 2},
    "WAVEFT": {**PROJECTIONS, "n_frequency": 20},
}
BESIDE = {"SHADOW": ["shadow_backbone"]}
METHODS = sorted(each.value for each in PeftType if each.value not in OF_ITS_OWN)


def trained(method: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """Return a model after three steps, and a batch of it."""
    config = PEFT_TYPE_TO_CONFIG_MAPPING[PeftType(method)]
    settings = SETTINGS.get(method, PROJECTIONS)
    model = get_peft_model(llama(), config(task_type="CAUSAL_LM", **settings))
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    for batch in batches()[:1] * 3:
        given = dict(batch)
        if method in ("MULTITASK_PROMPT_TUNING", "POLY"):
            given["task_ids"] = torch.zeros(len(batch["input_ids"]), dtype=torch.long)
        update(model(**given).loss, optimizer)
    return model, given


def test_the_whole_registry_is_covered() -> None:
    assert {*METHODS, *OF_ITS_OWN} == {each.value for each in PeftType}


@pytest.mark.parametrize("method", METHODS)
def test_state_norm_and_effect_are_those_of_a_second_computation(method: str) -> None:
    if method == "ADAMSS":
        pytest.importorskip("sklearn")
    # BOFT names a compiler in the environment
    with warnings.catch_warnings(), mock.patch.dict(os.environ):
        warnings.simplefilter("ignore")
        model, batch = trained(method)
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        found = ftlab.adapters(model, batch).anatomy
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())
    assert model.training
    assert {each.method for each in found.layers} == {method}
    assert {each.state for each in found.layers} == {"active"}
    assert found.shared == {"default": sum(p.numel() for p in trainable(model))}
    if found.layers[0].place == "prompt":
        _check_the_next_token(model, batch, found)
    else:
        _check_the_layers(model, batch, found)


def _check_the_layers(model: Any, batch: Any, found: Any) -> None:
    """Call each layer once more, on what it was given, with its adapter and without."""
    modules = {
        name.removeprefix("base_model.model."): module
        for name, module in model.named_modules()
    }
    # what a method has beside the layers: its norm is that of its parameters
    beside = [each for each in found.layers if each.name not in modules]
    assert [each.name for each in beside] == BESIDE.get(found.layers[0].method, [])
    for each in beside:
        module = model.base_model.get_submodule(each.name)
        assert each.norm == pytest.approx(_norm_of(module.parameters()), rel=1e-4)
    layers = [each for each in found.layers if each.name in modules]
    given: dict[str, Any] = {}

    def keep(name: str) -> Any:
        def hook(_module: Any, args: Any, kwargs: Any) -> None:
            given[name] = args, kwargs

        return hook

    model.eval()
    handles = [
        modules[each.name].register_forward_pre_hook(keep(each.name), with_kwargs=True)
        for each in layers
    ]
    with torch.no_grad():
        model(**batch)
    for handle in handles:
        handle.remove()
    for each in layers:
        args, kwargs = given[each.name]
        with torch.no_grad():
            on = modules[each.name].forward(*args, **kwargs)  # past the hooks
            layer = _plain(modules[each.name])
            own = {k: v for k, v in kwargs.items() if k != "task_ids"}
            off = layer(*(getattr(a, "hidden", a) for a in args), **own)
        on, off = (y[0] if isinstance(y, tuple) else y for y in (on, off))
        on = getattr(on, "hidden", on)  # SHADOW hands on two states as one object
        mask = batch["attention_mask"] != 0
        if on.dim() == 3 and on.shape[:2] == mask.shape:
            on, off = on[mask], off[mask]
        effect = float((on.double() - off.double()).norm() / off.double().norm())
        assert each.effect == pytest.approx(effect, rel=1e-5)
        assert effect > 0
        trained = [
            p
            for name, p in modules[each.name].named_parameters()
            if "default" in name or "adaption" in name
        ]
        assert each.norm == pytest.approx(_norm_of(trained), rel=1e-4)


def _norm_of(parameters: Any) -> float:
    return math.sqrt(sum(float(p.detach().double().square().sum()) for p in parameters))


def _plain(module: Any) -> Any:
    return getattr(module, "base_layer", None) or module.model


def _check_the_next_token(model: Any, batch: Any, found: Any) -> None:
    (prompt,) = found.layers
    own = model.prompt_encoder["default"].parameters()
    assert prompt.norm == pytest.approx(_norm_of(own), rel=1e-4)
    model.eval()
    with torch.no_grad():
        on = model(**batch).logits[:, -batch["input_ids"].shape[1] :]
        with model.disable_adapter():
            plain = {k: v for k, v in batch.items() if k != "task_ids"}
            off = model(**plain).logits
    a, b = (each.double().log_softmax(-1) for each in (on, off))
    kl = (a.exp() * (a - b)).sum(-1)[batch["attention_mask"] != 0].mean()
    assert found.moved == pytest.approx(float(kl), rel=1e-5)
    assert found.moved > 0


@pytest.mark.skipif(not hasattr(PeftType, "SHADOW"), reason="PEFT 0.21 brings it")
def test_a_cache_is_not_filled_twice_by_a_block_that_is_tried_again() -> None:
    model, batch = trained("SHADOW")
    plain = ftlab.adapters(model, batch).anatomy
    model.config.use_cache = True
    found = ftlab.adapters(model, batch).anatomy
    assert not found.notes
    assert [e.effect for e in found.layers[:2]] == [e.effect for e in plain.layers[:2]]
    past = model(input_ids=batch["input_ids"], use_cache=True).past_key_values
    mask = torch.cat([batch["attention_mask"]] * 2, 1)
    late = {"attention_mask": mask, "past_key_values": past}
    found = ftlab.adapters(model, {"input_ids": batch["input_ids"], **late}).anatomy
    assert "keys from before this batch" in found.notes[0]
