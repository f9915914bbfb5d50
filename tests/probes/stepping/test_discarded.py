"""Backwards whose gradients nothing used."""

import torch
from torch import nn

from tests.probes.recording import Recording


def loop(body, steps=3):
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        for _ in range(steps):
            body(model, optimizer)
    return [s.values.get("gradients_thrown_away") for s in recording.steps]


def backward(model):
    model(torch.ones(2, 3)).sum().backward()


def test_clearing_between_backwards_throws_them_away():
    def body(model, optimizer):
        for _ in range(4):
            optimizer.zero_grad()
            backward(model)
        optimizer.step()

    assert loop(body) == [3, 3, 3]


def test_accumulation_throws_nothing_away():
    def body(model, optimizer):
        optimizer.zero_grad()
        for _ in range(4):
            backward(model)
        optimizer.step()

    assert loop(body) == [0, 0, 0]


def test_weights_that_move_in_between_say_that_it_is_meant():
    def body(model, optimizer):
        optimizer.zero_grad()
        backward(model)
        model.weight.data.add_(0.1)
        optimizer.zero_grad()
        backward(model)
        model.weight.data.sub_(0.1)
        optimizer.step()

    assert loop(body) == [0, 0, 0]


def test_gradients_that_are_put_in_place_by_hand_are_not_judged():
    def body(model, optimizer):
        optimizer.zero_grad()
        backward(model)
        optimizer.zero_grad()
        backward(model)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        model.weight.grad = model.weight.grad * 2
        optimizer.step()

    assert loop(body) == [None, None, None]


def test_the_backward_of_another_model_does_not_count():
    other = nn.Linear(3, 1)

    def body(model, optimizer):
        optimizer.zero_grad()
        backward(model)
        optimizer.step()
        backward(other)

    assert loop(body) == [0, 0, 0]


def test_another_model_s_optimizer_may_use_what_is_cleared_then():
    critic = nn.Linear(1, 1)
    judge = torch.optim.SGD(critic.parameters(), lr=0.1)

    def body(model, optimizer):
        critic(model(torch.ones(2, 3))).sum().backward()
        judge.step()
        optimizer.zero_grad()
        backward(model)
        optimizer.step()

    assert loop(body) == [0, 0, 0]


def test_what_is_cleared_without_a_backward_to_follow_is_another_fault():
    def body(model, optimizer):
        backward(model)
        optimizer.zero_grad()
        optimizer.step()

    assert loop(body) == [None, None, None]
