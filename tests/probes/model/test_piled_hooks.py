"""What is left of hooks at the end of a step is counted, by the real recorder."""

import gc

import pytest
import torch

from ftlab.probes.model.piled_hooks import PiledHooks
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord


def nothing(*_):
    return None


def train(begin, end=lambda: None, before=0, steps=5):
    """Counts by step of the first row, and the rows' names."""
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(before):
        model.register_forward_hook(nothing)
    records = []
    with Recorder(Subject(model, [optimizer]), [PiledHooks()], records.append):
        for _ in range(steps):
            begin(model)
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            end()
    blocks = [each for each in records if isinstance(each, Block)]
    counts = {each.step: each.values["alike"].tolist() for each in blocks}
    names = [each for each in records if isinstance(each, NameRecord)]
    steps_of = [each for each in records if isinstance(each, StepRecord)]
    return counts, [each for each in names if each.table == "hooks"], steps_of


@pytest.mark.filterwarnings("error::ftlab.records.errors.FtlabWarning")
def test_a_model_that_is_deleted_ends_its_last_step():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    records = []
    with Recorder(Subject(model, [optimizer]), [PiledHooks()], records.append):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        del model, optimizer
        gc.collect()
    assert len([each for each in records if isinstance(each, StepRecord)]) == 1


def test_hooks_of_each_step_are_counted_when_it_is_over():
    counts, names, steps = train(lambda model: model.register_forward_hook(nothing))
    # The next step's hook is there already when its forward ends the step before.
    assert counts == {0: [2.0], 1: [3.0], 2: [4.0], 3: [5.0], 4: [5.0]}
    (name,) = names
    assert name.meta["owner"] == "model"
    assert name.meta["function"] == "nothing"
    assert [step.values["piled_hooks"] for step in steps] == [2, 3, 4, 5, 5]


@pytest.mark.parametrize("before", [0, 1, 3])
def test_hooks_that_were_there_before_have_no_row(before):
    counts, names, steps = train(nothing, before=before)
    assert (counts, names) == ({}, [])
    assert [step.values["piled_hooks"] for step in steps] == [0] * 5


def test_hooks_that_are_removed_in_each_step_have_no_row():
    handles = []

    def begin(model):
        handles.append(model.register_forward_hook(nothing))

    assert train(begin, lambda: handles.pop().remove())[0] == {}


def test_it_takes_nothing_of_the_user_s_away_and_leaves_nothing():
    model = torch.nn.Linear(2, 1)
    with Recorder(Subject(model), [PiledHooks()], print):
        model.register_forward_hook(nothing)
    assert list(model._forward_hooks.values()) == [nothing]
