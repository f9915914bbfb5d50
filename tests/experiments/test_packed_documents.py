"""A packed document, and the same alone."""

import pytest
import torch

from tests.experiments.set_ups import (
    after,
    around,
    gpt2,
    llama,
    lora,
    named,
    packed,
    padded,
    tried,
)


def padded_to(length):
    """Return a packed row padded as flattening collators do: position 0 each."""
    batch, more = packed(), length - packed()["input_ids"].shape[1]
    fill = {"input_ids": 0, "position_ids": 0, "labels": -100}
    return {
        name: torch.nn.functional.pad(value, (0, more), value=fill[name])
        for name, value in batch.items()
    }


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        (llama, packed()),
        (gpt2, packed()),
        (lambda: llama().bfloat16(), packed()),
        (lora, padded_to(20)),
    ],
    ids=["llama", "gpt2", "bf16", "padded"],
)
def test_a_document_is_the_same_alone(model, batch):
    outcome = tried("packed-documents", model(), batch)
    assert outcome.state == "holds", outcome.says


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        (padded(), "no position_ids, so nothing says what is packed"),
        (packed((16,)), "no row's position_ids start again: nothing is packed"),
    ],
)
def test_it_does_not_apply_where_nothing_is_packed(batch, says):
    outcome = tried("packed-documents", llama(), batch)
    assert outcome.state == "does not apply"
    assert says in outcome.says


@pytest.mark.parametrize("length", [16, 20])
def test_a_mask_of_ones_beside_the_positions_joins_the_documents(length):
    batch = padded_to(length)
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    outcome = tried("packed-documents", llama(), batch)
    assert named(outcome)[0] == "model.layers.0.self_attn"
    assert "the document packed in row 0" in outcome.says


def test_positions_that_a_hook_removes_are_missed():
    model = gpt2()

    def drop(_module, args, kwargs):
        return args, kwargs | {"position_ids": None}

    model.transformer.register_forward_pre_hook(drop, with_kwargs=True)
    assert "transformer" in named(tried("packed-documents", model, packed()))


def test_a_cache_that_is_in_use_hides_the_boundaries():
    model = llama(use_cache=True)
    assert "model.layers.0.self_attn" in named(
        tried("packed-documents", model, packed())
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h + h.roll(1, 1),
        lambda h: h.cumsum(1) / torch.arange(1, h.shape[1] + 1)[:, None],
        lambda h: h - h.mean(1, keepdim=True),
    ],
    ids=["convolution", "running mean", "mean"],
)
def test_a_module_that_mixes_positions_is_named(change):
    model = around(llama(), "model.layers.0.mlp", after(change))
    outcome = tried("packed-documents", model, packed())
    assert named(outcome) == ["model.layers.0.mlp"]
