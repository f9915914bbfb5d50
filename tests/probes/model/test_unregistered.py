"""Parameters that modules keep in plain containers are found, and named by the way."""

import torch
from torch import nn

from ftlab.faults.model.structure.layers_in_a_list import build
from ftlab.probes.model.unregistered import source_of, unregistered


class Bank:
    def __init__(self):
        self.gate = nn.Parameter(torch.ones(1))


def names(model):
    return [each.name for each in unregistered(model)]


def kept(value):
    model = nn.Sequential(nn.Linear(2, 2))
    model[0].kept = value
    return model


def test_what_stands_in_containers_is_named_by_the_way_to_it():
    layer = nn.Linear(2, 2, bias=False)
    assert names(kept([layer])) == ["0.kept[0].weight"]
    assert names(kept({"a": (nn.Parameter(torch.ones(1)),)})) == ["0.kept['a'][0]"]
    assert names(kept(Bank())) == ["0.kept.gate"]


def test_what_is_registered_or_frozen_is_left_alone():
    layer = nn.Linear(2, 2)
    assert names(kept(nn.ModuleList([layer]))) == []
    assert names(kept([layer.requires_grad_(False)])) == []
    model = kept(layer)
    model.names = {"again": layer, "all": list(model.parameters()), "self": model}
    assert names(model) == []


def test_a_module_put_into_the_dict_of_attributes_is_unregistered_too():
    model = nn.Linear(2, 2)
    model.__dict__["hidden"] = nn.Linear(2, 2, bias=False)
    assert names(model) == ["hidden.weight"]


def test_containers_that_hold_one_another_end():
    ring = []
    ring.append({"ring": ring, "gate": nn.Parameter(torch.ones(1))})
    assert names(kept(ring)) == ["0.kept[0]['gate']"]


def test_parameters_in_a_list_have_gradients_and_never_change():
    case = build(fixed=False)
    parameters = [each.parameter() for each in unregistered(case.model)]
    before = [parameter.detach().clone() for parameter in parameters]
    case.run(6)
    assert len(parameters) == 8
    assert all(parameter.grad is not None for parameter in parameters)
    assert all(map(torch.equal, parameters, before))


def test_a_tensor_that_was_made_of_a_parameter_is_followed_back():
    weight = nn.Parameter(torch.ones(2))
    model = nn.Linear(2, 2)
    model.factor = weight.to(torch.float64) * 0.5
    (kept,) = unregistered(model)
    assert (kept.name, kept.container) == ("factor", "Tensor")
    assert source_of(kept.parameter()) is weight


def test_tensors_of_registered_parameters_and_of_several_are_left_alone():
    model = nn.Linear(2, 2)
    model.cast = model.weight.to(torch.float64)
    model.last = nn.Parameter(torch.ones(2)) + nn.Parameter(torch.ones(2))
    model.plain = torch.ones(2)
    assert names(model) == []
