"""The latest step is delivered when somebody asks, and only when it is complete."""

import threading

import pytest
import torch

from tests.probes.recording import Recording


def small():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1)


def backward(model):
    model(torch.ones(2, 4)).sum().backward()


def asked(recording):
    recording.recorder.catch_up()
    return len(recording.steps)


def test_the_latest_step_comes_when_it_is_asked_for():
    model = small()
    optimizer = sgd(model.parameters())
    with Recording(model, optimizer) as recording:
        assert asked(recording) == 0
        for done in range(1, 4):
            optimizer.zero_grad()
            backward(model)
            assert asked(recording) == done - 1
            optimizer.step()
            assert asked(recording) == asked(recording) == done
    assert [each.step for each in recording.steps] == [0, 1, 2]


def test_an_optimizer_that_is_gone_is_not_waited_for():
    model = small()
    with Recording(model) as recording:
        for done in range(1, 3):
            optimizer = sgd(model.parameters())
            backward(model)
            optimizer.step()
            assert asked(recording) == done


def train(model, optimizer, look):
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for _ in range(3):
        backward(model)
        backward(model)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        look()
        scheduler.step()
        look()
        optimizer.zero_grad()
        look()


@pytest.mark.parametrize("looking", [False, True])
def test_looking_changes_no_number_and_loses_no_operation(looking):
    plain, model = small(), small()
    train(plain, sgd(plain.parameters()), lambda: None)
    optimizer = sgd(model.parameters())
    with Recording(model, optimizer) as recording:
        train(
            model,
            optimizer,
            recording.recorder.catch_up if looking else lambda: None,
        )
    for one, other in zip(plain.parameters(), model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert [step.lr for step in recording.steps] == [(0.1,), (0.05,), (0.025,)]
    assert [step.micro_batches for step in recording.steps] == [2, 2, 2]
    ops = [op for step in range(3) for op in recording.ops(step)]
    cycle = ["forward", "backward"] * 2 + ["clip", "step"]
    whole = [*cycle, "scheduler_step", "zero_grad"]
    # What comes after the last look belongs to a step that never began.
    assert ops == whole * 2 + (cycle if looking else whole)


def test_a_step_of_two_optimizers_is_not_torn_apart():
    model = small()
    first, second = sgd(model[0].parameters()), sgd(model[1].parameters())
    with Recording(model, first, second) as recording:
        backward(model)
        first.step()
        assert asked(recording) == 0
        second.step()
        assert asked(recording) == 1
    assert recording.ops(0) == ["forward", "backward", "step", "step"]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_scaler_is_waited_for(enabled):
    model = small()
    optimizer = sgd(model.parameters())
    scaler = torch.amp.GradScaler("cpu", enabled=enabled)
    with Recording(model, optimizer) as recording:
        scaler.scale(model(torch.ones(2, 4)).sum()).backward()
        scaler.step(optimizer)
        assert asked(recording) == (not enabled)
        scaler.update()
        assert asked(recording) == 1
    assert recording.ops(0)[-1] == ("scaler_update" if enabled else "step")


def test_another_thread_ends_no_step():
    model = small()
    optimizer = sgd(model.parameters())
    with Recording(model, optimizer) as recording:
        backward(model)
        optimizer.step()
        other = threading.Thread(target=recording.recorder.catch_up)
        other.start()
        other.join()
        assert len(recording.steps) == 0
        assert asked(recording) == 1
