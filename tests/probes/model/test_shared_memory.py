"""Frozen parameters in the memory of trained ones."""

import torch
from torch import nn

from ftlab.probes.model.shared_memory import shared_memory


def pair():
    model = nn.ModuleDict({"fast": nn.Linear(3, 3), "slow": nn.Linear(3, 3)})
    model["slow"].requires_grad_(False)
    return model


def test_assigned_tensors_are_named_with_what_they_are():
    model = pair()
    model["slow"].load_state_dict(model["fast"].state_dict(), assign=True)
    model["slow"].requires_grad_(False)
    found = shared_memory(model)
    assert found["frozen"]["names"] == ["slow.weight", "slow.bias"]
    assert found["trained"]["names"] == ["fast.weight", "fast.bias"]


def test_copies_and_ties_have_memory_of_their_own():
    model = pair()
    model["slow"].load_state_dict(model["fast"].state_dict())
    assert shared_memory(model) == {}
    model["slow"].weight = model["fast"].weight
    model["slow"].bias = model["fast"].bias
    assert shared_memory(model) == {}


def test_two_that_are_both_frozen_or_both_trained_are_left_alone():
    model = pair()
    model["slow"].load_state_dict(model["fast"].state_dict(), assign=True)
    assert shared_memory(model.requires_grad_(False)) == {}
    assert shared_memory(model.requires_grad_(True)) == {}


def test_a_single_tensor_is_a_trick():
    model = pair()
    model["slow"].weight.data = model["fast"].weight.data
    assert shared_memory(model) == {}


def test_parts_of_a_flat_buffer_lie_beside_one_another():
    model = pair()
    flat = torch.zeros(24)
    for number, each in enumerate(model.parameters()):
        start = 9 * (number % 2) + 12 * (number // 2)
        each.data = flat[start : start + each.numel()].view(each.shape)
    assert shared_memory(model) == {}
