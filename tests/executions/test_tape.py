"""What is recorded of an execution."""

import torch
from torch import nn

from ftlab.executions.listening import Listening, Place
from ftlab.executions.spool import Spool
from ftlab.executions.tape import Recording, Tape, of_weight, weight_gradients


def test_values_and_gradients_are_kept_and_nothing_is_changed():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
    x = torch.randn(3, 2, requires_grad=True)
    plain = model(x)
    plain.sum().backward()
    expected, model[0].weight.grad = model[0].weight.grad, None
    with Spool() as spool:
        tape = Tape(spool)
        with Listening(model, Recording(tape)):
            out = model(x)
            out.sum().backward()
        Recording(tape).finished(model)
        assert torch.equal(out, plain)
        before = spool.get(tape.values[Place("0", 0, "out", "")])
        assert torch.equal(before, model[0](x))  # as it was before the ReLU wrote in it
        assert torch.equal(spool.get(tape.gradients[of_weight("0.weight")]), expected)
        ones = spool.get(tape.gradients[Place("", 0, "out", "")])
        assert torch.equal(ones, torch.ones(3, 2))


def test_the_first_gradient_and_the_first_forward_are_kept():
    place, ones = Place("", 0, "out", ""), torch.ones(1)
    with Spool() as spool:
        tape = Tape(spool)
        recording = Recording(tape)
        recording.value(place, ones, again=True)
        assert not tape.values
        for value in (ones, ones * 2):
            recording.value(place, value, again=False)
            recording.gradient(place, value)
        assert spool.get(tape.values[place]) == spool.get(tape.gradients[place]) == 1


def test_sparse_gradients_and_frozen_weights_are_left_out():
    model = nn.Sequential(nn.Embedding(3, 2, sparse=True), nn.Linear(2, 2))
    model[1].bias.requires_grad_(False)
    model(torch.tensor([1])).sum().backward()
    assert [name for name, _ in weight_gradients(model)] == ["1.weight"]
