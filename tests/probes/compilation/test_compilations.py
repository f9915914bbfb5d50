"""What Dynamo notes of a model's frames, by the path of the module."""

import pytest
import torch

from ftlab.probes.compilation.compilations import Compilations
from tests.models import update
from tests.probes.recording import Recording


class Inner(torch.nn.Module):
    def __init__(self, counter):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.calls = counter

    def forward(self, inputs):
        self.calls += 1
        return self.layer(inputs) * self.calls


class Outer(torch.nn.Module):
    def __init__(self, counter):
        super().__init__()
        self.inner = Inner(counter)

    def forward(self, inputs):
        return self.inner(inputs)


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def broken(graph, inputs):
    raise RuntimeError("no tool chain\nat all")


def record(counter, steps=3, backend="eager", called=0, **config):
    model = Outer(counter)
    model.inner.compile(backend=backend)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch._dynamo.config.patch(config):
        for _ in range(called):
            model(torch.ones(1, 2))
        with Recording(model, optimizer, probes=[Compilations()]) as recording:
            for _ in range(steps):
                update(model(torch.ones(1, 2)).sum(), optimizer)
    frames = [each.values.get("compiled_frames") for each in recording.steps]
    noted = [n for n in recording.names.values() if n.table == "compilations"]
    return frames, noted


def test_a_frame_that_is_compiled_once_is_all_well():
    assert record(torch.zeros(1)) == ([1.0, None, None], [])


def test_a_swallowed_error_is_told_once_with_its_module():
    frames, (found,) = record(torch.zeros(1), backend=broken, suppress_errors=True)
    assert frames == [0.0, None, None]
    assert found.name == "inner"
    assert found.meta["kind"] == "failed"
    assert found.meta["error"] == "BackendCompilerFailed"
    assert "no tool chain at all" in found.meta["reason"]
    assert found.meta["frames"] == 1


def test_the_limit_is_told_with_the_guard_and_its_line():
    frames, (found,) = record(5, recompile_limit=2)
    assert frames == [1.0, 1.0, 0.0]
    assert (found.name, found.since_step) == ("inner", 2)
    assert found.meta["kind"] == "limit"
    assert found.meta["guard"] == "self.calls == 6"
    line = Inner.forward.__code__.co_firstlineno + 1
    assert found.meta["line"] == f"test_compilations.py:{line}"


def test_the_limit_of_a_frame_that_was_compiled_before_watching_is_told():
    frames, (found,) = record(5, steps=1, called=2, recompile_limit=2)
    assert frames == [0.0]
    assert found.meta["kind"] == "limit"


def test_frames_of_other_models_are_not_this_ones():
    model = torch.nn.Linear(2, 1)
    other = Outer(5)
    other.compile(backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[Compilations()]) as recording:
        model(other.inner.layer.weight.detach() * 1).sum().backward()
        other(torch.ones(1, 2))
        optimizer.step()
    assert recording.steps[0].values["compiled_frames"] == 0.0
