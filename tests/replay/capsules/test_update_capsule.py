"""An optimizer step that runs twice ends where it ended the first time."""

import copy

import pytest
import torch

from ftlab.replay.capsules.update_capsule import (
    UpdateCapsule,
    Updated,
    updated_tensors,
)

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
    updated = Updated(optimizer)
    assert updated.nbytes == 3 * 6 * 4
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    step = 4  # Adam counts its steps in a tensor of its own
    assert updated.look(optimizer).nbytes == 3 * 6 * 4 + step


def test_a_state_that_was_loaded_is_the_one_that_is_kept():
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    updated = Updated(optimizer)
    UpdateCapsule(optimizer, updated)
    optimizer.load_state_dict(optimizer.state_dict())
    moment = optimizer.state[model.weight]["exp_avg"] = torch.full((2, 3), 7.0)
    capsule = UpdateCapsule(optimizer, updated.look(optimizer))
    moment.zero_()
    capsule.restore()
    assert optimizer.state[model.weight]["exp_avg"] is moment
    assert moment.tolist() == [[7.0] * 3] * 2


def test_a_counter_of_the_state_is_put_back_to_what_it_was_last():
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    entry = optimizer.state[model.weight]
    updated = Updated(optimizer)
    for count in (1000, 2000):
        entry["count"] = count
        capsule = UpdateCapsule(optimizer, updated.look(optimizer))
        entry["count"] = 3000
    capsule.restore()
    assert entry["count"] == 2000


@pytest.mark.parametrize("count", [1000, torch.tensor(1000.0)])
def test_what_an_optimizer_keeps_under_a_word_is_put_back(count):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.state["count"] = count
    optimizer.state[model.weight]["moment"] = torch.ones(2)
    capsule = UpdateCapsule(optimizer)
    if torch.is_tensor(count):
        count.add_(1)
    else:
        optimizer.state["count"] = 1001
    optimizer.state[model.weight]["moment"].zero_()
    optimizer.state["new"] = 1
    capsule.restore()
    assert optimizer.state["count"] is count
    assert float(count) == 1000
    assert optimizer.state[model.weight]["moment"].tolist() == [1, 1]
    assert "new" not in optimizer.state


@pytest.mark.parametrize("hidden", [False, True])
def test_only_a_state_without_containers_is_known_to_be_all_there_is(hidden):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    moment = torch.zeros(2)
    optimizer.state[model.weight]["moment"] = [moment] if hidden else moment
    floats = Updated(optimizer).floats
    assert floats is None if hidden else len(floats.tensors) == 3


def test_what_a_step_writes_is_named():
    model = torch.nn.Linear(3, 2, bias=False)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    names = [name for _, name, _ in updated_tensors(optimizer)]
    assert names == ["", "step", "exp_avg", "exp_avg_sq"]
