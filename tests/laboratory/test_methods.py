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
from ftlab.faults.builders.tiny import batches, llama

NOT_COVERED = {
    "ADAMSS": "it needs scikit-learn",
    "SHADOW": "its layers return objects of its own, which few models take",
    "XLORA": "it needs adapters on disk",
}
PROJECTIONS = {"target_modules": ["q_proj", "v_proj"]}
VIRTUAL = {"num_virtual_tokens": 4}
SETTINGS: dict[str, dict[str, Any]] = {
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
    "SHIRA": {**PROJECTIONS, "r": 4},
    "TRAINABLE_TOKENS": {"token_indices": [47, 20], "target_modules": ["embed_tokens"]},
    "VBLORA": {**PROJECTIONS, "vector_length": 16, "num_vectors": 16, "topk": 2},
    "WAVEFT": {**PROJECTIONS, "n_frequency": 20},
}
METHODS = sorted(each.value for each in PeftType if each.value not in NOT_COVERED)


def trained(method: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """Return a model after three steps, and a batch of it."""
    config = PEFT_TYPE_TO_CONFIG_MAPPING[PeftType(method)]
    settings = SETTINGS.get(method, PROJECTIONS)
    model = get_peft_model(llama(), config(task_type="CAUSAL_LM", **settings))
    weights = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=1e-2)
    for batch in batches()[:1] * 3:
        given = dict(batch)
        if method in ("MULTITASK_PROMPT_TUNING", "POLY"):
            given["task_ids"] = torch.zeros(len(batch["input_ids"]), dtype=torch.long)
        model(**given).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, given


def test_four_fifths_of_the_registry_are_covered() -> None:
    assert set(NOT_COVERED) <= {each.value for each in PeftType}
    assert len(METHODS) / len(PeftType) >= 0.8


@pytest.mark.parametrize("method", METHODS)
def test_state_norm_and_effect_are_those_of_a_second_computation(method: str) -> None:
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
    own = [p for p in model.parameters() if p.requires_grad]
    assert found.shared == {"default": sum(p.numel() for p in own)}
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
    given: dict[str, Any] = {}

    def keep(name: str) -> Any:
        def hook(_module: Any, args: Any, kwargs: Any) -> None:
            given[name] = args, kwargs

        return hook

    model.eval()
    handles = [
        modules[each.name].register_forward_pre_hook(keep(each.name), with_kwargs=True)
        for each in found.layers
    ]
    with torch.no_grad():
        model(**batch)
    for handle in handles:
        handle.remove()
    for each in found.layers:
        args, kwargs = given[each.name]
        with torch.no_grad():
            on = modules[each.name](*args, **kwargs)
            layer = _plain(modules[each.name])
            own = {k: v for k, v in kwargs.items() if k != "task_ids"}
            off = layer(*args, **own)
        on, off = (y[0] if isinstance(y, tuple) else y for y in (on, off))
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
        norm = math.sqrt(
            sum(float(p.detach().double().square().sum()) for p in trained)
        )
        assert each.norm == pytest.approx(norm, rel=1e-4)


def _plain(module: Any) -> Any:
    return getattr(module, "base_layer", None) or module.model


def _check_the_next_token(model: Any, batch: Any, found: Any) -> None:
    (prompt,) = found.layers
    own = model.prompt_encoder["default"].parameters()
    norm = math.sqrt(sum(float(p.detach().double().square().sum()) for p in own))
    assert prompt.norm == pytest.approx(norm, rel=1e-4)
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
