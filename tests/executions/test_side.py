"""One side of a comparison, and what it leaves as it was."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from ftlab.executions.listening import Listener
from ftlab.executions.pairs import side
from ftlab.executions.side import (
    Start,
    WithoutDropout,
    loss_of,
    start_again,
    undisturbed,
)
from ftlab.replay.capsules.rng import RngState
from tests.executions.sides import Small, small_batch


class Dtypes(Listener):
    def __init__(self):
        self.made, self.gradients = [], 0

    def value(self, place, tensor, *, again):
        self.made.append(tensor.dtype)
        return tensor

    def gradient(self, place, gradient):
        self.gradients += 1


def test_it_runs_forward_and_backward_wide_or_as_it_is():
    model, one = Small(), Dtypes()
    each = side(model, small_batch())
    each.run(one)
    assert set(one.made) == {torch.float32}
    assert one.gradients
    assert model.layers[0].weight.grad is not None
    wide = Dtypes()
    each.run(wide, wide=True, backward=False)
    assert torch.float64 in wide.made
    assert not wide.gradients
    assert torch.is_grad_enabled()


def test_each_run_begins_with_the_same_numbers_and_no_gradients():
    model = Small()
    each = side(model, {})
    start = Start([each])
    model(**small_batch())["loss"].backward()
    drawn = []
    for _ in range(2):
        start_again(each, start)
        drawn.append((random.random(), np.random.rand(), torch.rand(1).item()))
    assert drawn[0] == drawn[1]
    assert all(p.grad is None for p in model.parameters())


DROPOUTS = [
    nn.Dropout(0.9),
    nn.Dropout1d(0.9),
    nn.Dropout2d(0.9),
    nn.Dropout3d(0.9),
    nn.AlphaDropout(0.9),
    nn.FeatureAlphaDropout(0.9),
    lambda x: torch.dropout(x, 0.9, True),
    lambda x: nn.functional.dropout(input=x, p=0.9),
]


@pytest.mark.parametrize("drop", DROPOUTS)
def test_dropout_drops_nothing(drop):
    x = torch.ones(1, 8, 2, 2, 2)
    with WithoutDropout():
        assert torch.equal(drop(x), x)


@pytest.mark.parametrize("way", [(None, 0.9), {"dropout_p": 0.9}])
def test_attention_drops_nothing(way):
    q, k, v = torch.rand(3, 1, 1, 4, 2)
    args, kwargs = (way, {}) if isinstance(way, tuple) else ((), way)
    with WithoutDropout():
        out = scaled_dot_product_attention(q, k, v, *args, **kwargs)
    assert torch.equal(out, scaled_dot_product_attention(q, k, v))


def test_a_loss_is_found_or_not():
    loss = torch.ones(())
    assert loss_of({"loss": loss}) is loss
    assert loss_of(SimpleNamespace(loss=loss)) is loss
    assert loss_of(loss) is loss
    for none in ({"loss": None}, {}, torch.ones(2), (loss,), {"loss": torch.ones(2)}):
        assert loss_of(none) is None


def test_models_are_left_as_they_were_also_when_one_is_on_both_sides():
    model = Small()
    model.layers[0].weight.grad = torch.ones(8, 4)
    mean, rng = model.layers[1].running_mean.clone(), RngState.take()
    each = side(model, small_batch())
    with undisturbed(each, each) as start:
        start_again(each, start)
        each.run(Listener())
        torch.rand(1)
    assert RngState.take() == rng
    assert torch.equal(model.layers[1].running_mean, mean)
    assert torch.equal(model.layers[0].weight.grad, torch.ones(8, 4))
    assert model.layers[0].bias.grad is None
