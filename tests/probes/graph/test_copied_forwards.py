"""Calls of copies that run the model that they were copied from."""

import copy
import functools
import types

import pytest
import torch
from torch import nn

from ftlab.probes.graph.copied_forwards import CopiedForwards, copies_of
from tests.models import update
from tests.probes.recording import Recording


def closure(model):
    inner = model.forward
    return lambda inputs: inner(inputs)


def wrapped(model):
    return functools.wraps(model.forward)(closure(model))


def compiled(model):
    torch._dynamo.reset()
    return torch.compile(model.forward, backend="eager")


def past_a_partial(model):
    inner = functools.partial(type(model).forward, model)
    return lambda inputs: inner(inputs)


_forward = None


def by_a_global(model):
    global _forward
    _forward = model.forward
    return lambda inputs: _forward(inputs)


WAYS = [closure, wrapped, compiled, past_a_partial, by_a_global]


def layers():
    return nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))


def counts(model, copied, steps=3, probe=None, after=None):
    """Calls of copies, and whether their weights were others, by step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[probe or CopiedForwards()]) as recording:
        for _ in range(steps):
            if copied is not None:
                copied(torch.ones(1, 2))
            update(model(torch.ones(1, 2)).sum(), optimizer)
        if after is not None:
            after()
    values = [each.values for each in recording.steps]
    return [(v.get("borrowed_calls"), v.get("copies_apart")) for v in values]


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_that_runs_the_model_is_heard_and_compared(way):
    model = nn.Linear(2, 2)
    model.forward = way(model)
    copied = copy.deepcopy(model)
    assert torch.equal(copied(torch.ones(1, 2)), model(torch.ones(1, 2)))
    assert counts(model, copied) == [(1.0, 0.0), (1.0, 1.0), (1.0, 1.0)]
    assert not copied._forward_pre_hooks


def test_a_part_of_a_copy_is_found_within_it():
    model = layers()
    model[1].forward = closure(model[1])
    copied = copy.deepcopy(model)
    assert [(id(a), id(b)) for a, b in copies_of(model)] == [
        (id(copied[1]), id(model[1]))
    ]


def test_calls_after_the_last_update_count():
    model = nn.Linear(2, 2)
    model.forward = closure(model)
    copied = copy.deepcopy(model)
    found = counts(model, None, after=lambda: copied(torch.ones(1, 2)))
    assert found == [(0.0, None), (0.0, None), (1.0, 1.0)]


def test_a_copy_that_is_made_while_training_is_found_soon():
    model = nn.Linear(2, 2)
    model.forward = closure(model)
    made = []

    class Late(CopiedForwards):
        def after_update(self, moment):
            made.append(copy.deepcopy(model))
            return ()

    assert counts(model, lambda x: made and made[0](x), probe=Late(), steps=4) == [
        (None, None),
        (0.0, None),
        (1.0, 1.0),
        (1.0, 1.0),
    ]


def own_forward_again(model):
    copied = copy.deepcopy(model)
    vars(copied).pop("forward")
    return copied


def kept_beside_its_own(model):
    copied = own_forward_again(model)
    copied.wrapped = model.forward
    return copied


def bound_anew(model):
    model.forward = types.MethodType(type(model).forward, model)
    return copy.deepcopy(model)


def of_the_same_weights(model):
    return copy.copy(model)


def with_a_function_of_neither(model):
    model.forward = lambda inputs: inputs.sum()
    return copy.deepcopy(model)


def compiled_as_a_whole(model):
    return torch.compile(copy.deepcopy(model), backend="eager")


HARMLESS = [
    own_forward_again,
    kept_beside_its_own,
    bound_anew,
    of_the_same_weights,
    with_a_function_of_neither,
    compiled_as_a_whole,
]


@pytest.mark.parametrize("copied", HARMLESS)
def test_other_copies_are_left_alone(copied):
    model = nn.Linear(2, 2)
    model.forward = closure(model)
    other = copied(model)
    assert list(copies_of(model)) == []
    del other


def test_a_script_of_a_copy_can_be_made():
    model = layers()
    model[1].forward = closure(model[1])
    copied = copy.deepcopy(model)
    with Recording(model, probes=[CopiedForwards()]):
        assert copied[1]._forward_pre_hooks
        torch.jit.script(nn.Linear(2, 2))
        assert not copied[1]._forward_pre_hooks
