"""One model under two settings."""

import contextlib

import pytest
import torch

from ftlab.executions.between import BETWEEN, pair_between
from ftlab.executions.pairs import evaluating
from ftlab.records.errors import BadValueError
from tests.executions.sides import Small, llama, padded
from tests.models import tiny_4bit, tiny_lora


def settings(model):
    return (
        [module.training for module in model.modules()],
        [
            {n: v for n, v in vars(m).items() if "checkpoint" in n}
            for m in model.modules()
        ],
        model.config.to_dict(),
        model.config._attn_implementation,
        [p.requires_grad for p in model.parameters()],
        [getattr(m, "disable_adapters", None) for m in model.modules()],
        [[*m._forward_hooks.values()] for m in model.modules()],
        [vars(m).get("_require_grads_hooks") for m in model.modules()],
    )


def test_a_users_own_checkpointing_stays_on():
    model = llama()
    model.gradient_checkpointing_enable()
    before = settings(model)
    pair = pair_between(model, padded(), "checkpointing")
    for each, on in ((pair.a, False), (pair.b, True)):
        with each.settings():
            assert model.model.layers[0].gradient_checkpointing is on
        assert settings(model) == before


@pytest.mark.parametrize("between", sorted(BETWEEN))
def test_settings_are_other_within_and_as_they_were_afterwards(between):
    model = tiny_lora(llama())
    model.base_model.model.model.layers[0].eval()  # a mode of its own
    before = settings(model)
    batch = padded()
    if between == "packing":
        positions = torch.arange(batch["input_ids"].shape[1]) % 3
        batch["position_ids"] = positions.expand_as(batch["input_ids"])
    pair = pair_between(model, batch, between)
    inside = []
    for each in (pair.a, pair.b):
        with contextlib.suppress(KeyboardInterrupt), each.settings():
            inside.append(settings(each.model))
            raise KeyboardInterrupt
        assert settings(model) == before
    asked = {"attention", "checkpointing", "mode", "adapter"}
    assert (inside[0] != inside[1]) is (between in asked | {"merge"})


def test_attention_compares_the_plain_one_with_the_one_in_use():
    model = llama()
    pair = pair_between(model, padded(), "attention")
    assert pair.names == ("eager attention", "sdpa attention")
    model.config._attn_implementation = "eager"
    assert pair_between(model, padded(), "attention").names[0] == "sdpa attention"


def test_a_row_is_taken_out_of_its_padding():
    batch = padded() | {"extra": 3}
    pair = pair_between(llama(), batch, "padding")
    assert pair.names == ("row 1 alone", "row 1 in the padded batch")
    assert pair.a.batch["input_ids"].tolist() == [batch["input_ids"][1, 3:].tolist()]
    assert pair.a.batch["extra"] == 3
    assert "labels" not in pair.b.batch
    assert not pair.backward
    a, b = pair.meeting.cells(pair.a.batch["input_ids"], batch["input_ids"])
    assert torch.equal(a, b)


def one_row():
    return {name: value[:1] for name, value in padded().items()}


@pytest.mark.parametrize(
    ("between", "batch", "why"),
    [
        ("checkpointing", {}, r"Small has no gradient_checkpointing_enable\(\)"),
        ("attention", {}, "the config of Small names no attention implementation"),
        ("adapter", {}, "Small is no PeftModel"),
        ("merge", {}, r"Small has no merge_and_unload\(\)"),
        ("packing", {}, "the batch has no input_ids of shape"),
        ("packing", one_row(), "the batch has no position_ids"),
        ("padding", {}, "the batch has no input_ids of shape"),
        ("padding", one_row(), "the batch is one row without padding"),
    ],
)
def test_what_does_not_apply_says_why(between, batch, why):
    with pytest.raises(
        BadValueError, match=f"between='{between}' does not apply: {why}"
    ):
        pair_between(Small(), batch, between)


def test_a_merged_adapter_is_not_switched_off():
    model = tiny_lora(llama())
    model.merge_adapter()
    with pytest.raises(BadValueError, match="an adapter is merged"):
        pair_between(model, padded(), "adapter")


def test_an_evaluation_leaves_weights_of_4_bits_as_they_lie(tmp_path):
    model = tiny_4bit(tmp_path)
    layers = [m for m in model.modules() if hasattr(m, "support_avx512bf16_for_cpu")]
    for layer in layers:
        layer.support_avx512bf16_for_cpu = True
    before = {name: each.clone() for name, each in model.state_dict().items()}
    with evaluating(model), torch.no_grad():
        model(torch.tensor([[1, 2, 3]]))
    assert all(layer.support_avx512bf16_for_cpu for layer in layers)
    assert all(torch.equal(t, before[n]) for n, t in model.state_dict().items())
