"""Gradients that are still there when the next update begins."""

import pytest
import torch
from torch import nn

from tests.probes.recording import Recording


def loop(between, steps=6, times=1, **optimizer_settings):
    """Train a layer; ``between`` gets it after each update. Returns both columns."""
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, **optimizer_settings)
    with Recording(model, optimizer) as recording:
        for _ in range(steps):
            model(torch.ones(2, 3)).sum().backward()
            for _ in range(times):
                optimizer.step()
            between(model, optimizer)
    return [
        [step.values.get(column) for step in recording.steps]
        for column in ("gradients_carried", "gradients_used_again")
    ]


def nothing(model, optimizer):
    """Clear nothing."""


def by_optimizer(model, optimizer):
    optimizer.zero_grad()


def by_optimizer_to_zero(model, optimizer):
    optimizer.zero_grad(set_to_none=False)


def by_model(model, optimizer):
    model.zero_grad()


def zeroed(model, optimizer):
    for each in model.parameters():
        each.grad.zero_()


def zeroed_past_autograd(model, optimizer):
    for each in model.parameters():
        each.grad.data.zero_()


def let_go(model, optimizer):
    for each in model.parameters():
        each.grad = None


def scaled(model, optimizer):
    for each in model.parameters():
        each.grad.mul_(0.9)


def test_nothing_is_known_of_the_first_update():
    assert loop(nothing)[0][0] is None


def test_the_norm_of_what_was_not_cleared():
    carried, again = loop(nothing, steps=3)
    assert carried[1] > 0
    assert carried[2] == pytest.approx(2 * carried[1])
    assert not any(again[1:])


@pytest.mark.parametrize(
    "clear",
    [
        by_optimizer,
        by_optimizer_to_zero,
        by_model,
        zeroed,
        zeroed_past_autograd,
        let_go,
        scaled,
    ],
)
def test_each_way_of_clearing_counts(clear):
    carried, again = loop(clear)
    assert not any(carried[1:])
    assert not any(again[1:])


def test_a_gradient_that_is_kept_elsewhere_is_not_carried():
    kept = []

    def move_away(model, optimizer):
        kept.extend(each.grad for each in model.parameters())
        let_go(model, optimizer)

    assert not any(loop(move_away)[0][1:])


def test_what_was_cleared_in_another_part_does_not_count():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        for _ in range(3):
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            model[1].zero_grad()
    assert recording.steps[2].values["gradients_carried"] > 0


def test_accumulation_carries_nothing_over():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        for _ in range(3):
            for _ in range(4):
                model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            zeroed_past_autograd(model, optimizer)
    assert not any(s.values.get("gradients_carried") for s in recording.steps)


def test_a_second_step_with_the_same_gradients():
    _, again = loop(let_go, times=2)
    assert [value > 0 for value in again[1:5]] == [True, False, True, False]


def test_a_second_step_without_gradients_is_let_pass():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        for _ in range(3):
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            let_go(model, optimizer)
            optimizer.step()
    assert not any(s.values.get("gradients_used_again") for s in recording.steps)


def test_a_closure_is_not_judged():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def closure():
        loss = model(torch.ones(2, 3)).sum()
        loss.backward()
        return loss

    with Recording(model, optimizer) as recording:
        for _ in range(3):
            optimizer.step(closure)
    assert not any(s.values.get("gradients_used_again") for s in recording.steps)


def test_later_steps_are_looked_at_now_and_then():
    carried, _ = loop(nothing, steps=20)
    known = [step for step, value in enumerate(carried) if value is not None]
    assert known == [1, 2, 3, 4, 5, 6, 7, 16]
