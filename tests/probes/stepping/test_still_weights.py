"""Weights that have not changed, whoever might have changed them."""

import torch

from ftlab.probes.stepping.still_weights import StillWeights


def test_a_write_that_torch_does_not_count_is_seen():
    weight = torch.nn.Parameter(torch.ones(3))
    still = StillWeights([torch.ones(2), weight])
    assert still.look() is False
    weight.data.sub_(0.1)
    assert still.look() is True


def test_of_nothing_nothing_is_said():
    assert StillWeights([]).look(wait=True) is None


def test_an_answer_on_its_way_is_waited_for_only_when_asked(monkeypatch):
    weight = torch.zeros(3)
    still = StillWeights([weight])
    monkeypatch.setattr(
        "ftlab.probes.stepping.still_weights.Delivery.arrived", lambda _: False
    )
    assert still.look() is None
    weight += 1
    assert still.look(wait=True) is True
