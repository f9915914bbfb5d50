"""A row alone and in its padded batch."""

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


def counted(batch):
    """Return a batch with the position ids that GPT-2 needs when padded left."""
    positions = (batch["attention_mask"].cumsum(1) - 1).clamp(min=0)
    return batch | {"position_ids": positions}


def two_packed_rows():
    one = packed()
    return {
        name: torch.cat((value, value + (name == "input_ids")))
        for name, value in one.items()
    }


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        (llama, padded()),
        (lambda: llama().bfloat16(), padded()),
        (lambda: lora(init_lora_weights=False), padded(left=False)),
        (gpt2, padded(left=False)),
        (gpt2, counted(padded())),
        (llama, two_packed_rows()),
        (llama, padded(lengths=(12, 12))),
    ],
    ids=["left", "bf16", "lora", "right", "positions", "packed", "full"],
)
def test_a_row_is_the_same_alone(model, batch):
    outcome = tried("row-alone", model(), batch)
    assert outcome.state == "holds", outcome.says


def test_it_does_not_apply_to_one_row_without_padding():
    outcome = tried("row-alone", llama(), padded(lengths=(7,)))
    assert outcome.state == "does not apply"
    assert outcome.says == "the batch is one row without padding"


def test_it_does_not_apply_without_token_ids():
    outcome = tried("row-alone", torch.nn.Linear(2, 1), {"input": torch.ones(3, 2)})
    assert outcome.state == "does not apply"
    assert "no input_ids of shape (rows, positions)" in outcome.says


def test_a_mask_that_a_hook_drops_is_found_in_the_attention():
    model = llama()

    def drop(_module, args, kwargs):
        return args, kwargs | {"attention_mask": None}

    model.model.register_forward_pre_hook(drop, with_kwargs=True)
    outcome = tried("row-alone", model, padded())
    assert named(outcome)[0] == "model.layers.0.self_attn"


def test_positions_that_count_padding_are_found_where_they_are_added():
    batch = padded()
    counting = torch.arange(12).expand(4, -1)
    for given in (batch, batch | {"position_ids": counting}):
        outcome = tried("row-alone", gpt2(), given)
        assert named(outcome) == ["transformer"]
        assert "row 2 alone and row 2 in the padded batch part" in outcome.says


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h - h.mean(1, keepdim=True),
        lambda h: h - h.mean(0, keepdim=True),
        lambda h: h / h.std(),
        lambda h: h * h.shape[1] ** -0.5,
    ],
    ids=["over positions", "over rows", "by all values", "by length"],
)
def test_a_module_that_reads_padding_or_other_rows_is_named(change):
    model = around(llama(), "model.layers.1.mlp", after(change))
    assert "model.layers.1.mlp" in named(tried("row-alone", model, padded()))
