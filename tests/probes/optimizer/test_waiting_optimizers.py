"""Optimizers that exist and were not handed over."""

import copy

import pytest
import torch
from accelerate import Accelerator

from ftlab.faults.builders.tiny import lora, trainable
from ftlab.probes.optimizer import waiting_optimizers
from ftlab.probes.optimizer.optimizer_facts import optimizer_facts


def waiting(model, *known):
    return optimizer_facts(model, known)[0]["waiting"]


def halves():
    model = lora()
    weights = trainable(model)
    return model, weights[::2], weights[1::2]


def test_what_an_optimizer_holds_that_was_not_handed_over_waits():
    model, mine, others = halves()
    first, second = torch.optim.SGD(mine), torch.optim.SGD(others)
    assert len(waiting(model, first)) == len(others)
    assert waiting(model, first, second) == []


class Own(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    def step(self, closure=None):
        return None


class Heir(torch.optim.SGD):
    pass


def copied(params):
    return copy.copy(torch.optim.Adam(params))


def wrapped(params):
    return Accelerator(cpu=True).prepare(torch.optim.SGD(params))


@pytest.mark.parametrize("make", [Own, Heir, copied, wrapped])
def test_whatever_made_the_optimizer_it_waits(make):
    model, mine, others = halves()
    first, second = torch.optim.SGD(mine), make(others)
    assert len(waiting(model, first)) == len(others)
    del second


def test_what_no_optimizer_holds_does_not_wait():
    model, mine, _ = halves()
    assert waiting(model, torch.optim.SGD(mine)) == []


def test_an_optimizer_of_all_parameters_is_one_that_was_made_in_vain():
    model, mine, _ = halves()
    forgotten = torch.optim.SGD(trainable(model))
    assert waiting(model, torch.optim.SGD(mine)) == []
    del forgotten


def test_an_optimizer_that_was_found_is_found_again_until_it_is_gone():
    model, mine, others = halves()
    first, second = torch.optim.SGD(mine), torch.optim.SGD(others)
    assert waiting(model, first) == waiting(model, first) != []
    del second
    assert waiting(model, first) == []


def test_it_is_looked_for_once_for_each_set_of_parameters(monkeypatch):
    searches = []
    search = waiting_optimizers._optimizers
    monkeypatch.setattr(
        waiting_optimizers, "_optimizers", lambda: searches.append(1) or search()
    )
    model, mine, others = halves()
    first = torch.optim.SGD(mine)
    assert waiting(model, first) == waiting(model, first) == []
    assert len(searches) == 1
    assert len(waiting(model, torch.optim.SGD(others))) == len(mine)
    assert len(searches) == 2
