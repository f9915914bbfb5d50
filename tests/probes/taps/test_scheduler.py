"""Schedulers are seen once each, and left as they are."""

import warnings

import numpy as np
import pytest
import torch

from tests.probes.recording import Recording


def loop():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def targets(recording):
    return [
        (entry.target, entry.detail["lr_after"])
        for entry in recording.ledger(0)
        if entry.op == "scheduler_step"
    ]


def test_a_scheduler_of_schedulers_is_one_entry():
    model, optimizer = loop()
    parts = [torch.optim.lr_scheduler.ConstantLR(optimizer, 0.5) for _ in range(2)]
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, parts, [3])
    with Recording(model, optimizer) as recording:
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        scheduler.step()
    assert targets(recording) == [("scheduler 0", [0.05])]


def test_one_that_overrides_step_is_seen():
    model, optimizer = loop()
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    with Recording(model, optimizer, schedulers=[scheduler]) as recording:
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        scheduler.step(1.0)
        scheduler.step(2.0)
    assert [round(rate, 6) for _, (rate,) in targets(recording)] == [0.1, 0.01]
    entries = [e for e in recording.ledger(0) if e.op == "scheduler_step"]
    assert [entry.detail["best"] for entry in entries] == [1.0, 1.0]


def test_one_that_does_not_count_its_steps_is_seen():
    model, optimizer = loop()
    restarts = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts
    with Recording(model, optimizer) as recording:
        scheduler = restarts(optimizer, 2)
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        scheduler.step()
        scheduler.step()
    assert [rate for _, (rate,) in targets(recording)] == pytest.approx([0.05, 0.1])


def test_making_a_scheduler_is_no_step_and_torch_s_warnings_stay_right():
    model, optimizer = loop()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Recording(model, optimizer) as recording:
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            scheduler.step()
    assert not [each for each in caught if "lr_scheduler" in str(each.message)]
    assert len(targets(recording)) == 1


def test_a_scheduler_of_another_optimizer_is_not_ours():
    model, optimizer = loop()
    _other, others = loop()
    scheduler = torch.optim.lr_scheduler.StepLR(others, 1)
    with Recording(model, optimizer) as recording:
        others.step()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        scheduler.step()
    assert targets(recording) == []
    assert recording.subject.schedulers == ()


def test_torch_s_warnings_name_the_user_s_line():
    model, optimizer = loop()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with warnings.catch_warnings(record=True) as caught, Recording(model, optimizer):
        warnings.simplefilter("always")
        scheduler.step()
        scheduler.step(3)
    order, epoch = caught
    assert "before `optimizer.step()`" in str(order.message)
    assert {order.filename, epoch.filename} == {__file__}
    assert epoch.lineno == order.lineno + 1


class Metric:
    """A number that is none for Python."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


@pytest.mark.parametrize("make", [float, torch.tensor, np.float32, Metric])
@pytest.mark.parametrize("named", [True, False])
def test_what_a_plateau_s_scheduler_is_given_stands_in_its_step(make, named):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    given = [0.25, 0.5, 0.75]
    with Recording(model, optimizer) as recording:
        for value in given:
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            metric = make(value)
            _ = scheduler.step(metrics=metric) if named else scheduler.step(metric)
    assert [step.values["plateau_metric"] for step in recording.steps] == given


def test_other_schedulers_are_given_none():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    with Recording(model, optimizer) as recording:
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler.step(1)
    assert "plateau_metric" not in recording.steps[0].values
