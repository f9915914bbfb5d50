import math

import pytest
import torch
from torch.nn import functional

from ftlab.probes.graph.nan_makers import GIVEN, Maker, maker_of


def some(*values):
    return torch.tensor(values, requires_grad=True)


def entropy(p):
    return -(p * p.log()).sum()


def masked_by_product():
    logits = torch.zeros(3, 4, requires_grad=True)
    allowed = torch.tensor([False, True, True, True])
    labels = torch.tensor([0, 1, 2])
    logits = logits.masked_fill(~allowed, -torch.inf)
    losses = functional.cross_entropy(logits, labels, reduction="none")
    return losses, labels != 0


def attention_of_nothing():
    scores = torch.zeros(2, 2, requires_grad=True)
    nothing = torch.tensor([[True, True], [False, True]])
    return (
        scores.masked_fill(nothing, -torch.inf).softmax(-1) @ torch.ones(2, 1)
    ).sum()


@pytest.mark.parametrize(
    ("loss", "reason", "ops"),
    [
        (lambda: entropy(some(0.0, 1.0)), "zero times infinity", ("log", "mul")),
        (lambda: some(0.0, 1.0).log().sum(), "log of zero", ("log",)),
        (lambda: some(-1.0, 1.0).log().sum(), "log below zero", ("log",)),
        (lambda: some(-1.0, 1.0).sqrt().sum(), "root below zero", ("sqrt",)),
        (lambda: some(200.0).exp().sum(), "overflow", ("exp",)),
        (lambda: some(1.0).sum() / torch.zeros(()), "division by zero", ("div",)),
        (lambda: some(0.0).sum() / some(0.0).sum(), "zero by zero", ("div",)),
        (lambda: some(0.0)[:0].mean(), "mean of nothing", ("mean",)),
        (attention_of_nothing, "softmax of nothing", ("softmax",)),
        (
            lambda: torch.mul(*masked_by_product()).sum(),
            "zero times infinity",
            ("cross_entropy", "mul"),
        ),
        (
            lambda: masked_by_product()[0].mean(),
            "label of probability zero",
            ("cross_entropy",),
        ),
        (
            lambda: functional.cross_entropy(
                torch.zeros(2, 3, requires_grad=True), torch.tensor([-100, -100])
            ),
            "no label counts",
            ("cross_entropy",),
        ),
    ],
)
def test_the_operation_is_named(loss, reason, ops):
    loss = loss()
    assert not math.isfinite(loss.item())
    assert maker_of([loss]) == Maker(reason, ops)


def test_a_weight_that_is_nan_is_no_operation_s_fault():
    layer = torch.nn.Linear(2, 2)
    torch.nn.init.constant_(layer.weight, math.nan)
    found = maker_of([layer(torch.ones(1, 2)).relu().log().sum()])
    assert found is not None
    assert found.reason == GIVEN


def test_a_vocabulary_that_is_masked_is_not_the_cause():
    losses, counts = masked_by_product()
    overflow = (some(200.0).exp() - some(200.0).exp()).sum()
    found = maker_of([losses.masked_fill(~counts, 0.0).sum() + overflow])
    assert found is not None
    assert "log_softmax" not in found.ops


def test_looking_leaves_graph_and_gradients_as_they_are():
    def gradient(look):
        p = some(0.5, 0.5)
        loss = entropy(p.softmax(0))
        if look:
            assert maker_of([loss]) is None
        loss.backward()
        return p.grad

    assert torch.equal(gradient(look=True), gradient(look=False))
