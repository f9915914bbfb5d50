"""Attributes that say what is frozen are compared with what is."""

import pytest
from torch import nn

from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.model.freezing_facts import freezing_facts, is_misspelled


class Marked(nn.Linear):
    """Keeps a mark of its own, which says nothing of its weights."""

    def __init__(self):
        super().__init__(2, 2)
        self.requires_grad = False


def marks(model):
    return freezing_facts(model).get("attributes", [])


def test_an_attribute_of_a_module_that_freezes_nothing():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[0].requires_grad = False
    (mark,) = marks(model)
    assert (mark["place"], mark["value"], mark["own"]) == ("0", False, False)
    assert mark["parameters"]["names"] == ["0.weight", "0.bias"]


def test_an_attribute_that_is_right_is_left_alone():
    model = nn.Linear(2, 2).requires_grad_(False)
    model.requires_grad = False
    assert marks(model) == []


def test_an_adapter_within_does_not_contradict_it():
    model = llama().requires_grad_(False)
    model.requires_grad = False
    model = lora(model, r=1024)
    model.base_model.model.model.layers[0].self_attn.q_proj.requires_grad = False
    assert marks(model) == []


def test_a_class_with_a_mark_of_its_own_is_told_apart():
    (mark,) = marks(nn.Sequential(Marked()))
    assert mark["own"]


def test_a_misspelled_attribute_of_a_parameter():
    model = nn.Linear(2, 2)
    model.weight.require_grad = False
    model.bias.trainable = False
    assert [mark["place"] for mark in marks(model)] == ["weight", "bias"]
    model.requires_grad_(False)
    assert marks(model) == []


@pytest.mark.parametrize("name", ["required_grad", "require_grad", "requires_grads"])
def test_near_names_are_misspelled(name):
    assert is_misspelled(name)


@pytest.mark.parametrize(
    "name", ["requires_grad", "_requires_grad", "grad", "training"]
)
def test_other_names_are_not(name):
    assert not is_misspelled(name)
