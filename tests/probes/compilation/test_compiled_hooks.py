"""A watch under a stance that refuses to compile anything anew."""

import contextlib

import pytest
import torch
from torch._dynamo.utils import counters

from ftlab.probes import dynamo_private
from ftlab.probes.compilation import compiled_hooks
from ftlab.probes.recorder import Recorder
from ftlab.probes.standard import standard_probes
from ftlab.probes.subject import Subject
from ftlab.records.errors import FtlabWarning
from ftlab.records.step import StepRecord

WARM = 4
"""Steps before the stance is set."""


class Loop:
    """A loop of which something is compiled with the backend that only runs."""

    def __init__(self, what):
        torch.compiler.reset()
        counters.clear()
        torch.manual_seed(0)
        block = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
        self.model = Model(block)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.called = self.model
        self._loss, self._update = self._loss_of, self.optimizer.step
        if what == "wrapped":
            self.called = torch.compile(self.model, backend="eager")
        elif what == "of torch":
            self.model = block
            self.optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
            self._update = self.optimizer.step
            self.called = torch.compile(block, backend="eager")
        elif what == "in place":
            self.model.compile(backend="eager")
        elif what == "block":
            block.compile(backend="eager")
        elif what == "forward":
            self.model.forward = torch.compile(self.model.forward, backend="eager")
        elif what == "loss":
            self._loss = torch.compile(self._loss_of, backend="eager")
        elif what == "update":
            self._update = torch.compile(self.optimizer.step, backend="eager")

    def _loss_of(self, batch):
        return self.called(batch).pow(2).mean()

    def steps(self, count):
        """Make some steps."""
        for _ in range(count):
            self.optimizer.zero_grad()
            self._loss(torch.ones(2, 4)).backward()
            self._update()

    def watched(self, records):
        """Return a recorder with all probes, not attached."""
        subject = Subject(self.called, [self.optimizer])
        return Recorder(subject, standard_probes(interval=4), records.append)


class Model(torch.nn.Module):
    """A model of the user's own."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, batch):
        """Run the block."""
        return self.block(batch)


@contextlib.contextmanager
def strict(stance):
    """Refuse to compile; the user's setting."""
    skip = stance == "skip"
    name = "default" if skip else "fail_on_recompile"
    torch.compiler.set_stance(name, skip_guard_eval_unsafe=skip)
    try:
        yield
    finally:
        torch.compiler.set_stance("default")


def seen(records):
    """Count the steps."""
    return sum(isinstance(each, StepRecord) for each in records)


EVERYWHERE = ["wrapped", "of torch", "in place", "block", "forward", "loss"]


@pytest.mark.parametrize("stance", ["fail", "skip"])
@pytest.mark.parametrize("what", EVERYWHERE)
def test_a_watch_that_begins_after_compiling_stops_nothing(what, stance):
    loop, records = Loop(what), []
    loop.steps(WARM)
    made = counters["frames"]["total"]
    with strict(stance):
        with loop.watched(records):
            loop.steps(10)
        loop.steps(2)
    assert seen(records) == 10
    assert counters["frames"]["total"] == made


@pytest.mark.parametrize("stance", ["fail", "skip"])
@pytest.mark.parametrize("what", EVERYWHERE)
def test_a_watch_that_begins_before_compiling_stops_nothing(what, stance):
    loop, records = Loop(what), []
    recorder = loop.watched(records)
    with recorder:
        loop.steps(WARM)
        with strict(stance):
            loop.steps(10)
            recorder.detach()
            loop.steps(2)
    compiled_hooks.HooksInGraphs.take_off_what_is_left()
    assert seen(records) == WARM + 10
    assert not any(hooks_of(loop.model))


def test_hooks_in_a_graph_are_left_until_they_can_be_taken_off():
    loop, records = Loop("loss"), []
    recorder = loop.watched(records).attach()
    loop.steps(WARM)
    with strict("fail"):
        recorder.detach()
        assert any(hooks_of(loop.model))
        loop.steps(2)
    assert seen(records) == WARM
    recorder.detach()
    assert not any(hooks_of(loop.model))


def hooks_of(model):
    """Give the hooks of all modules."""
    for module in model.modules():
        yield from (*module._forward_pre_hooks, *module._forward_hooks)


def test_a_compiled_function_that_calls_the_model_is_made_twice_at_most():
    loop, records = Loop("loss"), []
    with loop.watched(records):
        loop.steps(20)
        assert counters["frames"]["ok"] <= 2


def test_it_steps_aside_where_a_step_was_compiled_without_hooks():
    loop, records = Loop("update"), []
    loop.steps(WARM)
    with strict("fail"):
        with pytest.warns(FtlabWarning, match="does not watch"):
            recorder = loop.watched(records).attach()
        loop.steps(3)
        recorder.detach()
        loop.steps(1)
    assert not seen(records)


def test_a_stance_that_refuses_is_told_from_the_usual_one():
    assert not dynamo_private.refuses_to_compile()
    for stance in ("fail", "skip"):
        with strict(stance):
            assert dynamo_private.refuses_to_compile()


def test_graphs_say_which_hooks_they_look_at():
    loop = Loop("update")
    loop.steps(1)
    assert dynamo_private.graphs_look_at(compiled_hooks.OPTIMIZER)
    assert not dynamo_private.graphs_look_at(*compiled_hooks.MODULE)
    loop = Loop("loss")
    assert not dynamo_private.graphs_look_at(compiled_hooks.OPTIMIZER)
    loop.model.register_forward_hook(lambda *_: None)
    loop.steps(1)
    assert dynamo_private.graphs_look_at(*compiled_hooks.MODULE, at=Model)
    assert not dynamo_private.graphs_look_at(*compiled_hooks.MODULE, at=torch.nn.Conv1d)
    assert compiled_hooks.in_a_graph(loop.model)
