"""Which scheduler is ours, whoever wraps it."""

import torch
from accelerate import Accelerator

from tests.probes.recording import Recording


def loop():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 1)


def train(model, optimizer, *schedulers):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    for scheduler in schedulers:
        scheduler.step()


def moved(recording):
    return [e.target for e in recording.ledger(0) if e.op == "scheduler_step"]


def test_a_scheduler_of_our_optimizer_is_adopted_when_it_steps():
    model, optimizer, scheduler = loop()
    with Recording(model, optimizer) as recording:
        train(model, optimizer, scheduler)
    assert recording.subject.schedulers == (scheduler,)
    assert moved(recording) == ["scheduler 0"]


def test_a_scheduler_of_another_model_is_not():
    model, optimizer, _ = loop()
    _other, _others, scheduler = loop()
    with Recording(model, optimizer) as recording:
        train(model, optimizer, scheduler)
    assert recording.subject.schedulers == ()
    assert moved(recording) == []


def test_one_that_was_named_is_heard_whatever_its_optimizer_holds():
    model, optimizer, scheduler = loop()
    _other, _others, named = loop()
    with Recording(model, optimizer, schedulers=[named]) as recording:
        train(model, optimizer, scheduler, named)
    assert moved(recording) == ["scheduler 1", "scheduler 0"]


def test_accelerate_s_wrapper_is_looked_through():
    model, optimizer, scheduler = loop()
    wrapped = Accelerator(cpu=True).prepare(scheduler)
    with Recording(model, optimizer, schedulers=[wrapped]) as recording:
        train(model, optimizer, scheduler)
    assert recording.subject.schedulers == (scheduler,)
    assert moved(recording) == ["scheduler 0"]
