"""Rows in the batch's order, and turned round."""

import pytest
import torch

from tests.experiments.set_ups import (
    after,
    around,
    llama,
    lora,
    named,
    packed,
    padded,
    tried,
)


@pytest.mark.parametrize(
    "model", [llama, lambda: llama().bfloat16(), lora], ids=["llama", "bf16", "lora"]
)
def test_rows_in_another_order_are_the_same(model):
    outcome = tried("row-order", model(), padded())
    assert outcome.state == "holds", outcome.says


def test_it_does_not_apply_to_one_row():
    outcome = tried("row-order", llama(), packed())
    assert (outcome.state, outcome.says) == ("does not apply", "the batch is one row")


class KeptMask:
    """A mask of rows that is drawn once and used for ever."""

    def __init__(self):
        self.kept = None

    def __call__(self, hidden):
        if self.kept is None:
            dice = torch.Generator().manual_seed(0)
            self.kept = torch.rand(len(hidden), 1, 1, generator=dice)
        return hidden * self.kept


def carried(hidden):
    """Add to each row what the one before it ended with."""
    ends = hidden[:, -1:].cumsum(0)
    return hidden + 0.1 * ends.roll(1, 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h * (1 + 0.01 * torch.arange(len(h))[:, None, None]),
        lambda h: h.roll(1, 0),
        lambda h: h[h[:, -1, 0].argsort()],
        carried,
        KeptMask(),
        lambda h: torch.cat((h[:1] * 2, h[1:])),
    ],
    ids=["index", "rolled", "sorted", "carried", "kept", "first"],
)
def test_a_module_that_reads_a_rows_place_is_named(change):
    model = around(llama(), "model.layers.1.mlp", after(change))
    assert named(tried("row-order", model, padded())) == ["model.layers.1.mlp"]
