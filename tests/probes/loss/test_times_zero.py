"""Losses that a number of 0 makes constant, and those that only seem so."""

import pytest
import torch
from torch.nn.functional import logsigmoid, relu

from ftlab.probes.loss.times_zero import times_zero

LOSSES = {
    "on the outside": (lambda x: 0 * x.mean(), "mul"),
    "within": (lambda x: -logsigmoid(0.0 * x).mean() / 4, "mul"),
    "a tensor": (lambda x: relu(1 - torch.tensor(0.0) * x).sum(), "mul"),
    "all terms": (lambda x: (0.0 * x).mean() + 0.0 * x.exp().mean(), "mul"),
    "one term": (lambda x: x.mean() + 0.0 * x.exp().mean(), ""),
    "another number": (lambda x: -logsigmoid(0.1 * x).mean(), ""),
    "a mask": (lambda x: (torch.zeros(3) * x).mean(), ""),
    "a learned factor": (lambda x: (torch.zeros(1, requires_grad=True) * x).mean(), ""),
}


@pytest.mark.parametrize(("make", "found"), LOSSES.values(), ids=LOSSES)
def test_only_a_number_that_all_ways_lead_through_counts(make, found):
    loss = make(torch.ones(3, requires_grad=True))
    assert times_zero([loss]) == found
    if found:
        (gradient,) = torch.autograd.grad(loss, loss_inputs(loss))
        assert not gradient.any()


def loss_inputs(loss):
    node = loss.grad_fn
    while node.next_functions:
        node = next(each for each, _ in node.next_functions if each is not None)
    return [node.variable]


def test_a_constant_and_a_number_have_no_graph():
    assert times_zero([torch.ones(())]) == ""
    assert times_zero([]) == ""


def test_what_lies_far_away_is_not_looked_for():
    score = torch.ones(3, requires_grad=True)
    value = 0.0 * score
    for _ in range(80):
        value = value + 1
    assert times_zero([value.sum()]) == ""
