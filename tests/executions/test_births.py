"""Whose code makes a difference."""

import copy
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from ftlab.executions.births import around, births, differing_weights, maker
from ftlab.executions.listening import Place
from ftlab.executions.side import Side
from tests.executions.sides import Small

NAMES = ("", "layers.0", "layers.0.mlp", "layers.1", "layers.1.mlp", "head")


def local(values=(), gradients=()):
    """Make ratios: 9 at some places, and 1 wherever a module returns something."""
    every = {Place(name, 0, "out", ""): torch.ones(2) for name in NAMES}
    nine = torch.tensor([1.0, 9.0])
    return SimpleNamespace(
        values=every | dict.fromkeys(values, nine),
        gradients=dict.fromkeys(gradients, nine),
    )


@pytest.mark.parametrize(
    ("kind", "forward", "backward"),
    [
        ("in", "layers.0", "layers.0.mlp"),
        ("out", "layers.0.mlp", "layers.0"),
        ("weight", "layers.0.mlp", "layers.0.mlp"),
    ],
)
def test_what_a_module_is_given_is_made_around_it(kind, forward, backward):
    place = Place("layers.0.mlp", 1, kind, "0")
    call = {"layers.0": 0, "layers.0.mlp": 1}
    assert maker(place, set(NAMES), True) == (forward, call[forward])
    assert maker(place, set(NAMES), False) == (backward, call[backward])


def test_the_innermost_module_that_is_known_is_around():
    assert around("layers.0.mlp", NAMES) == "layers.0"
    assert around("layers.7.mlp", NAMES) == ""


def test_what_is_beyond_the_threshold_is_born_once():
    given, out = Place("layers.0.mlp", 0, "in", "0"), Place("layers.0", 0, "out", "")
    (birth,) = births(local([given, out], [Place("layers.0", 0, "in", "0")]), 3.0)
    assert (birth.module, birth.phase) == ("layers.0", "forward")
    assert set(birth.places) == {given, out}
    assert not births(local([given, out]), 9.0)


def test_a_difference_of_backward_alone_is_told():
    (birth,) = births(local((), [Place("head", 0, "in", "0")]), 3.0)
    assert (birth.module, birth.phase) == ("head", "backward")


def test_the_same_in_other_blocks_is_one():
    mlps = [Place(f"layers.{at}.mlp", 0, "out", "") for at in (0, 1)]
    head = Place("head", 0, "out", "")
    both, last = births(local([*mlps, head]), 3.0)
    assert (both.module, both.also, both.places) == ("layers.0.mlp", [mlps[1][0]], mlps)
    assert last.module == "head"


def differing(one, other, module):
    return differing_weights(Side(one, {}, one), Side(other, {}, other), module)


def test_weights_and_buffers_of_the_module_itself_are_compared():
    one, other = Small(), Small()
    other.layers[1].running_mean += 1
    other.layers[0].bias.data[0] += 1e-6
    assert differing(one, other, "layers.1") == ("running_mean",)
    assert differing(one, other, "layers.0") == ("bias",)
    assert differing(one, other, "layers") == ()
    bigger = nn.Sequential(nn.Linear(2, 3))
    assert differing(nn.Sequential(nn.Linear(2, 2)), bigger, "0") == (
        "weight",
        "bias",
    )


def test_nan_weights_of_a_copy_are_the_same():
    one = nn.Linear(1, 1)
    one.weight.data.fill_(float("nan"))
    assert differing(one, copy.deepcopy(one), "") == ()
