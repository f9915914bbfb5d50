"""Hooks are told apart by whose they are, and by what they do."""

import functools
import importlib

import pytest
import torch

from ftlab.probes.graph.module_hook import ModuleHook
from ftlab.probes.model.hook_tables import likeness, piles
from ftlab.probes.subject import Subject
from tests.versions import older_than


def make():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return Subject(model, [optimizer]), model, optimizer


def nothing(*_):
    return None


def holding(value):
    return lambda *_: value


class Own:
    def hook(self, *_):
        return None

    def __call__(self, *_):
        return None


def seen(subject):
    return [(each.place, each.owner, each.kind, each.hooks) for each in piles(subject)]


def test_hooks_are_found_wherever_torch_keeps_them():
    subject, model, optimizer = make()
    weight = model[1].weight
    places = [
        (model[1].register_forward_pre_hook, ("module", "1", "forward pre-hook")),
        (model.register_forward_hook, ("module", "model", "forward hook")),
        (
            model[0].register_full_backward_pre_hook,
            ("module", "0", "backward pre-hook"),
        ),
        (model[0].register_full_backward_hook, ("module", "0", "backward hook")),
        (weight.register_hook, ("param", "1.weight", "gradient hook")),
        (
            weight.register_post_accumulate_grad_hook,
            ("param", "1.weight", "post-accumulate hook"),
        ),
        (
            optimizer.register_step_pre_hook,
            ("optimizer", "optimizer 0", "step pre-hook"),
        ),
        (
            optimizer.register_step_post_hook,
            ("optimizer", "optimizer 0", "step post-hook"),
        ),
        (
            torch.nn.modules.module.register_module_forward_hook,
            ("object", "torch.nn.Module", "global forward hook"),
        ),
    ]
    for register, expected in places:
        handles = [register(nothing), register(nothing)]
        assert seen(subject) == [(*expected, 2)]
        for handle in handles:
            handle.remove()
        assert seen(subject) == []


def test_a_pile_names_the_function_and_its_line():
    subject, model, _ = make()
    for _ in range(3):
        model[0].register_forward_hook(nothing)
    (found,) = piles(subject)
    assert found.function == "nothing"
    assert found.at == f"test_hook_tables.py:{nothing.__code__.co_firstlineno}"
    assert (found.hooks, found.alike) == (3, 3)


def test_one_hook_on_each_object_and_different_functions_are_no_pile():
    subject, model, _ = make()
    for layer in model:
        layer.register_forward_hook(nothing)
    model[0].register_forward_hook(lambda *_: None)
    assert seen(subject) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (nothing, nothing, True),
        (holding(0.5), holding(0.5), True),
        (holding(0.5), holding(0.25), False),
        (holding([]), holding([1.0]), True),
        (holding({}), holding({"of": "task 2"}), False),
        (holding(torch.ones(1)), holding(torch.ones(1)), False),
        (functools.partial(nothing, 1), functools.partial(nothing, 1), True),
        (functools.partial(nothing, 1), functools.partial(nothing, 2), False),
        (functools.partial(nothing, a=1), functools.partial(nothing, a=2), False),
        (holding(holding(1)), holding(holding(2)), False),
        ([].append, [].append, True),
        (Own(), Own(), False),
        (Own().hook, Own().hook, False),
    ],
)
def test_hooks_are_alike_by_code_and_by_what_they_hold(one, other, same):
    assert (likeness(one) == likeness(other)) is same


def test_a_method_of_one_object_is_the_same_each_time():
    own = Own()
    assert likeness(own.hook) == likeness(own.hook)


def test_hooks_of_ours_and_of_libraries_are_left_alone():
    home = (
        "trainer_utils" if older_than("transformers", "5") else "integrations.neftune"
    )
    neftune = importlib.import_module(f"transformers.{home}").neftune_post_forward_hook
    subject, model, _ = make()
    for _ in range(3):
        model.register_forward_hook(ModuleHook(print, model, ""))
        model.register_forward_hook(neftune)
    assert seen(subject) == []


def test_what_only_sets_requires_grad_may_be_there_often():
    def ask(_, __, output):
        output.requires_grad_(True)

    subject, model, _ = make()
    for _ in range(3):
        model.register_forward_hook(ask)
    (found,) = piles(subject)
    assert (found.hooks, found.alike) == (3, 1)


def test_of_very_many_hooks_the_latest_are_compared():
    subject, model, _ = make()
    for _ in range(100):
        model.register_forward_hook(nothing)
        model[0].register_forward_hook(holding(object()))
    assert sorted((each.hooks, each.alike) for each in piles(subject)) == [
        (100, 1),
        (100, 100),
    ]
