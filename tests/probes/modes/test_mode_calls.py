"""Calls of train() on the model and on the PeftModel in it."""

import pytest
import torch

from ftlab.faults.builders.tiny import lora
from ftlab.probes.modes.mode_calls import ModeCalls


@pytest.fixture
def model():
    return torch.nn.Sequential(lora(lora_dropout=0.1), torch.nn.Linear(2, 2))


@pytest.fixture
def calls(model):
    heard = ModeCalls(model)
    yield heard
    heard.remove()


def test_training_mode_of_the_model_or_of_the_peft_model_is_heard(model, calls):
    for each in (model, model[0]):
        assert each.train() is each
        assert calls.take()
    assert model[0].training


def test_it_is_told_once(model, calls):
    model.train()
    assert calls.take()
    assert not calls.take()


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.eval(),
        lambda model: model.train(False),
        lambda model: model.train(mode=False),
        lambda model: model[1].train(),
        lambda model: type(model)(torch.nn.ReLU()).train(),
        lambda _: lora().train(),
    ],
    ids=["eval", "False", "mode", "child", "other", "other PeftModel"],
)
def test_anything_else_is_not(model, calls, call):
    call(model)
    assert not calls.take()


def test_it_comes_off_its_classes(model, calls):
    kinds = [type(model), type(model[0])]
    assert all("train" in vars(kind) for kind in kinds)
    calls.remove()
    assert not any("train" in vars(kind) for kind in kinds)


def test_an_overridden_method_is_called_as_it_is_and_put_back():
    class Own(torch.nn.Linear):
        def train(self, mode=True):
            self.asked = mode
            return super().train(mode)

    method, one = Own.train, Own(1, 1)
    heard = ModeCalls(one)
    one.eval()
    assert one.asked is False
    one.train()
    assert (one.asked, heard.take()) == (True, True)
    heard.remove()
    assert Own.train is method
