"""Tensors that got the gradients in place of the model's parameters."""

import copy
import functools

import torch
from torch import nn

from ftlab.probes.graph.stand_ins import StandIns, runs_forward_of


def stand_ins(model):
    trainable = list(model.named_parameters())
    return StandIns(dict(model.named_modules()), trainable)


def test_a_tensor_that_stood_in_and_is_gone_is_a_copy():
    model = nn.Linear(2, 2)
    found, own = stand_ins(model), model.weight
    model.weight = nn.Parameter(own.detach().clone())
    found.see("")
    model(torch.ones(1, 2)).sum().backward()
    model.weight = own
    assert found.copies() == {"weight"}
    assert not found.made_anew()
    found.forget()
    assert not found.copies()


def test_a_parameter_that_was_replaced_for_good_was_made_anew():
    model = nn.Sequential(nn.Linear(2, 2))
    found = stand_ins(model)
    for _ in range(2):  # micro-batches
        found.see("")
        model[0].weight = nn.Parameter(torch.ones(2, 2))
        found.see("0")
        model(torch.ones(1, 2)).sum().backward()
    assert found.made_anew() == {"0.weight"}
    assert not found.copies()


def test_what_got_no_gradient_is_not_told():
    model = nn.Linear(2, 2)
    found = stand_ins(model)
    model.weight = nn.Parameter(torch.ones(2, 2))
    found.see("")
    assert not found.made_anew()


def test_a_copy_that_runs_the_original_is_found_by_its_gradients():
    model = nn.Linear(2, 2)
    forward = model.forward
    model.forward = functools.wraps(forward)(lambda inputs: forward(inputs))
    copied = copy.deepcopy(model)
    assert runs_forward_of(copied) is None
    copied(torch.ones(1, 2)).sum().backward()
    assert runs_forward_of(copied) is model
    assert runs_forward_of(model) is None


def test_a_forward_that_is_bound_by_a_partial_is_looked_into():
    original, other = nn.Linear(2, 2), nn.Linear(2, 2)
    other.forward = functools.partial(nn.Linear.forward, original)
    other(torch.ones(1, 2)).sum().backward()
    assert runs_forward_of(other) is original
    original.forward = functools.partial(nn.Linear.forward, original)
    assert runs_forward_of(original) is None
    assert runs_forward_of(nn.Linear(2, 2)) is None
    assert runs_forward_of(None) is None


def test_a_forward_is_found_where_a_closure_holds_it():
    model = nn.Linear(2, 2)
    forward = model.forward
    model.forward = lambda inputs: forward(inputs)
    copied = copy.deepcopy(model)
    copied(torch.ones(1, 2)).sum().backward()
    assert runs_forward_of(copied) is model
    assert runs_forward_of(model) is None
