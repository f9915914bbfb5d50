"""Which probes are called when."""

import torch

from ftlab.probes.budget import Budget
from ftlab.probes.probe import Probe
from ftlab.probes.recorder import Recorder
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.records.budget import FIRST_LOOK
from ftlab.records.step import StepRecord


class Resting(Probe):
    """Rests as soon as it is called."""

    name = "resting"

    def __init__(self):
        self.called, self.handed_over = [], 0

    def on_gradients(self, moment):
        self.called.append(moment.step)
        self.rests = True
        return ()

    def on_handover(self, moment):
        self.handed_over += 1
        return ()


class Slow(Probe):
    """Takes time in each turn."""

    def __init__(self, number):
        self.name, self.schedule, self.steps = f"slow{number}", every(2), []

    def on_gradients(self, moment):
        self.steps.append(moment.step)
        ended = torch.zeros(())
        for _ in range(400):
            ended = ended + 1
        return ()


def train(probes, steps, act=None, **given):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    records = []
    recorder = Recorder(Subject(model, [optimizer]), probes, records.append, **given)
    with recorder:
        for step in range(steps):
            if act is not None:
                act(step, model)
            optimizer.zero_grad()
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
    return recorder, [each for each in records if isinstance(each, StepRecord)]


def test_a_probe_that_rests_is_called_again_when_other_tensors_are_trained():
    def freeze(step, model):
        if step == 6:
            model[0].requires_grad_(False)

    probe = Resting()
    train([probe], 20, freeze)
    first, again = probe.called
    assert first == 0
    assert 6 <= again <= 8


def test_it_still_hears_of_what_no_step_is():
    probe = Resting()
    train([probe], 2)
    assert probe.called == [0]
    assert probe.handed_over == 1


def test_turns_are_taken_one_by_one_and_told():
    probes = [Slow(number) for number in range(3)]
    budget = Budget(0.02)
    recorder, steps = train(probes, 40, budget=budget)
    late = [step for probe in probes for step in probe.steps if step not in FIRST_LOOK]
    assert all({0, 1, 2, 3, 4, 8, 16} <= {*probe.steps} for probe in probes)
    assert len(late) == len(set(late))
    told = recorder.measured
    assert told["slow0"]["steps"] == len(probes[0].steps)
    assert told["slow0"]["ms"] > 0
    assert all(each.values["ftlab_seconds"] > 0 for each in steps)


def test_without_a_budget_all_are_measured_as_planned():
    probe = Slow(0)
    train([probe], 12)
    assert probe.steps == [0, 1, 2, 3, 4, 6, 8, 10]
