"""Settings that change nothing."""

import pytest
from peft import EvaConfig

from ftlab.faults.builders.methods import ranked
from ftlab.faults.builders.tiny import gpt2, llama, lora
from ftlab.probes.adapter.adapter_tree import adapted_layers
from ftlab.probes.adapter_config.idle_settings import idle_settings


def found(model):
    layers = list(adapted_layers(model))
    config, root = model.peft_config["default"], model.base_model.model
    return idle_settings(config, "default", layers, root)


def reasons(**settings):
    return {f: each["why"] for f, each in found(lora(llama(), **settings)).items()}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"use_dora": True},
        {"init_lora_weights": "pissa"},
        {"init_lora_weights": "eva", "eva_config": EvaConfig()},
        {"trainable_token_indices": [1, 2]},
        {"r": 64},
    ],
)
def test_settings_that_are_used(settings):
    assert reasons(**settings) == {}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"eva_config": EvaConfig()}, "other-start"),
        ({"use_qalora": True}, "no-variant"),
        ({"bias": "lora_only"}, "no-bias"),
        ({"bias": "all"}, "no-bias"),
        ({"trainable_token_indices": {"embed_tokens": [1, 2, 1]}}, "repeated"),
        ({"r": 65}, "above-size"),
    ],
)
def test_settings_that_change_nothing(settings, reason):
    assert reasons(**settings) == dict.fromkeys(settings, reason)


@pytest.mark.parametrize("mode", ["all", "lora_only"])
def test_biases_that_are_there(mode):
    assert found(lora(gpt2(), bias=mode)) == {}


@pytest.mark.parametrize(
    "settings",
    [
        {"r": 64},
        {"use_rslora": True},
        {"alpha_pattern": {"q_proj": 1}},
        {"lora_bias": True},
        {"init_lora_weights": "pissa"},
        {"use_qalora": True},
    ],
)
def test_what_adalora_takes_no_notice_of(settings):
    (name,) = [name for name, value in settings.items() if value]
    assert list(found(ranked(100, **settings))) == [name]


def test_the_rank_that_is_used_is_told():
    assert found(ranked(100, r=64))["r"] == {
        "why": "other-method",
        "value": "64",
        "used": "[8]",
    }
