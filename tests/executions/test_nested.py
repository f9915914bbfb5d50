"""Tensors within arguments and results."""

from collections import OrderedDict, namedtuple
from types import SimpleNamespace

import torch
from transformers.modeling_outputs import CausalLMOutputWithPast

from ftlab.executions.nested import changed

Two = namedtuple("Two", "left right")


def doubled(path, tensor):
    return tensor * 2


def test_containers_keep_their_classes_and_all_else_in_them():
    ones = torch.ones(1)
    assert changed(Two(ones, "kept"), doubled) == Two(2, "kept")
    assert type(changed([ones], doubled)) is list
    made = changed(OrderedDict(a=ones, b=None), doubled)
    assert type(made) is OrderedDict
    assert made == {"a": 2, "b": None}
    output = changed(CausalLMOutputWithPast(loss=ones, logits=ones), doubled)
    assert type(output) is CausalLMOutputWithPast
    assert (output.loss, output["logits"], output.hidden_states) == (2, 2, None)


def test_what_did_not_change_is_the_same_object():
    value = {"a": (torch.ones(1), [torch.ones(1)]), "b": 3}
    assert changed(value, lambda _, tensor: tensor) is value
    own = SimpleNamespace(tensor=torch.ones(1))
    assert changed(own, doubled) is own


def test_each_tensor_is_named_by_its_way():
    seen = []
    value = {"a": (torch.ones(1), [torch.ones(1)])}
    changed(value, lambda path, tensor: seen.append(path) or tensor, "0")
    assert seen == ["0.a.0", "0.a.1.0"]
