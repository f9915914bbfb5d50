"""An optimizer step that runs twice ends where it ended the first time."""

import copy

import pytest
import torch

from ftlab.replay.capsules.update_capsule import UpdateCapsule, updated_tensors

MAKERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.1),
    "amsgrad": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True, foreach=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "tensor lr": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.1)),
}


def state_of(model, optimizer):
    return copy.deepcopy((model.state_dict(), optimizer.state_dict()))


def assert_equal(first, second):
    torch.testing.assert_close(first, second, rtol=0, atol=0)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("steps_before", [0, 2])
def test_a_restored_step_repeats_itself(maker, steps_before):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = maker(model.parameters())
    for _ in range(steps_before):
        model(torch.ones(1, 3)).sum().backward()
        optimizer.step()
    before = state_of(model, optimizer)
    model(torch.ones(1, 3)).sum().backward()
    capsule = UpdateCapsule(optimizer)
    optimizer.step()
    after = state_of(model, optimizer)
    assert capsule.obstacle() is None
    capsule.restore()
    assert_equal(state_of(model, optimizer), before)
    optimizer.step()
    assert_equal(state_of(model, optimizer), after)


def test_the_tensors_of_the_state_stay_the_same_objects():
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    moment = optimizer.state[model.weight]["exp_avg"]
    capsule = UpdateCapsule(optimizer)
    optimizer.step()
    capsule.restore()
    assert optimizer.state[model.weight]["exp_avg"] is moment


def test_options_are_put_back_into_the_same_group():
    rate = torch.tensor(0.1)
    optimizer = torch.optim.AdamW(torch.nn.Linear(3, 2).parameters(), lr=rate)
    group = optimizer.param_groups[0]
    capsule = UpdateCapsule(optimizer)
    group["lr"].mul_(2)
    group["k"] = 1
    capsule.restore()
    assert group["lr"] is rate
    assert float(rate) == pytest.approx(0.1)
    assert "k" not in group
    assert len(group["params"]) == 2


def test_a_changed_gradient_is_an_obstacle():
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 3)).sum().backward()
    capsule = UpdateCapsule(optimizer)
    model.weight.grad.zero_()
    assert "gradients" in capsule.obstacle()


def test_the_size_is_told_before_it_is_taken():
    model = torch.nn.Linear(3, 2, bias=False)
    optimizer = torch.optim.AdamW(model.parameters())
    assert UpdateCapsule.bytes_of(optimizer) == 3 * 6 * 4
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    step = 4  # Adam counts its steps in a tensor of its own
    assert UpdateCapsule.bytes_of(optimizer) == 3 * 6 * 4 + step


def test_what_a_step_writes_is_named():
    model = torch.nn.Linear(3, 2, bias=False)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    names = [name for _, name, _ in updated_tensors(optimizer)]
    assert names == ["", "step", "exp_avg", "exp_avg_sq"]
