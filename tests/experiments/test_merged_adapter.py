"""Base and adapter, and the two in one."""

import pytest
import torch
from peft.tuners.lora.layer import Linear

from tests.experiments.set_ups import gpt2, llama, lora, named, padded, tried


def adapted(dtype=torch.float32, **settings):
    return lora(llama().to(dtype), init_lora_weights=False, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"dtype": torch.bfloat16},
        {"use_dora": True},
        {"use_rslora": True, "lora_dropout": 0.3},
        {"modules_to_save": ["lm_head"]},
    ],
    ids=["float32", "bf16", "dora", "rslora", "head"],
)
def test_merging_changes_nothing(settings):
    outcome = tried("merged-adapter", adapted(**settings), padded())
    assert outcome.state == "holds", outcome.says


def test_it_does_not_apply_without_an_adapter():
    outcome = tried("merged-adapter", llama(), padded())
    assert outcome.state == "does not apply"
    assert "LlamaForCausalLM has no merge_and_unload()" in outcome.says


def rescaled(monkeypatch):
    delta = Linear.get_delta_weight
    monkeypatch.setattr(Linear, "get_delta_weight", lambda *a: 0.5 * delta(*a))


def twice(monkeypatch):
    merge = Linear.merge

    def again(self, *args, **kwargs):
        self.get_base_layer().weight.data += self.get_delta_weight("default")
        merge(self, *args, **kwargs)

    monkeypatch.setattr(Linear, "merge", again)


def edited(monkeypatch):
    merge = Linear.merge

    def zeroing(self, *args, **kwargs):
        merge(self, *args, **kwargs)
        self.get_base_layer().weight.data[0] = 0

    monkeypatch.setattr(Linear, "merge", zeroing)


def skipped(monkeypatch):
    monkeypatch.setattr(Linear, "merge", lambda *_, **__: None)


@pytest.mark.parametrize("plant", [rescaled, twice, edited, skipped])
@pytest.mark.parametrize(
    "dtype",
    [torch.float32, pytest.param(torch.bfloat16, marks=pytest.mark.slow)],
)
def test_merging_otherwise_is_found_in_the_layers(monkeypatch, plant, dtype):
    plant(monkeypatch)
    outcome = tried("merged-adapter", adapted(dtype), padded())
    assert {name.rpartition(".")[2] for name in named(outcome)} == {"q_proj", "v_proj"}


def with_bias():
    return lora(gpt2(), init_lora_weights=False, lora_bias=True, fan_in_fan_out=True)


def test_a_bias_is_merged_too():
    outcome = tried("merged-adapter", with_bias(), padded(left=False))
    assert outcome.state == "holds", outcome.says


def test_a_bias_that_is_lost_is_found(monkeypatch):
    merge = Linear.merge

    def without_bias(self, *args, **kwargs):
        bias = self.get_base_layer().bias.detach().clone()
        merge(self, *args, **kwargs)
        self.get_base_layer().bias.data = bias

    monkeypatch.setattr(Linear, "merge", without_bias)
    outcome = tried("merged-adapter", with_bias(), padded(left=False))
    assert named(outcome) == ["transformer.h.0.attn.c_attn"]
