"""The same step twice."""

import numpy as np
import pytest
import torch

from tests.experiments.set_ups import after, around, llama, lora, named, padded, tried


@pytest.mark.parametrize(
    "model",
    [
        lambda: llama().bfloat16(),
        lambda: lora(llama(attention_dropout=0.2), lora_dropout=0.2).train(),
        lambda: around(
            llama(), "model.layers.0.mlp", after(lambda h: h + torch.rand_like(h))
        ),
    ],
    ids=["bf16", "dropout", "seeded noise"],
)
def test_the_same_step_gives_the_same_bits(model):
    outcome = tried("deterministic", model(), padded())
    assert outcome.state == "holds", outcome.says
    assert outcome.says == "bit-equal in forward and backward"


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self, hidden):
        self.calls += 1
        return hidden * 0.9**self.calls


class OwnDice:
    def __init__(self):
        self.dice = torch.Generator().manual_seed(0)

    def __call__(self, hidden):
        return hidden * (torch.rand(hidden.shape, generator=self.dice) > 0.1)


class NumpyDice(OwnDice):
    def __init__(self):
        self.dice = np.random.default_rng(0)

    def __call__(self, hidden):
        return hidden + self.dice.normal()


class Growing:
    def __init__(self):
        self.seen = []

    def __call__(self, hidden):
        self.seen.append(hidden.detach().mean())
        return hidden + torch.stack(self.seen).sum()


class Backwards(torch.autograd.Function):
    """Noise in the gradient alone."""

    dice = torch.Generator().manual_seed(0)

    @staticmethod
    def forward(_context, hidden):
        return hidden.clone()

    @staticmethod
    def backward(_context, gradient):
        return gradient * torch.rand(gradient.shape, generator=Backwards.dice)


@pytest.mark.parametrize("kind", [Counter, OwnDice, NumpyDice, Growing])
def test_a_module_that_keeps_something_is_named(kind):
    model = around(llama(), "model.layers.1.mlp", after(kind()))
    outcome = tried("deterministic", model, padded())
    assert named(outcome) == ["model.layers.1.mlp"]
    assert "in forward, by" in outcome.says


def test_noise_in_a_gradient_is_told_of_backward():
    model = around(llama(), "model.layers.1.mlp", after(Backwards.apply))
    outcome = tried("deterministic", model, padded())
    assert "in backward, by" in outcome.says
    assert named(outcome)[0].startswith("model.layers.1.mlp")
