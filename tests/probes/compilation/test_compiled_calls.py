"""Calls of a compiled model, by the way that they take."""

import pytest
import torch

from ftlab.probes.compilation.compiled_calls import CompiledCalls
from tests.models import update
from tests.probes.recording import Recording


class Task(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, inputs):
        return self.layer(inputs)

    def loss(self, inputs):
        return self(inputs).sum()


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def counts(net, loss_of, steps=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with Recording(net, optimizer, probes=[CompiledCalls()]) as recording:
        for _ in range(steps):
            update(loss_of(torch.ones(1, 2)), optimizer)
    values = [each.values for each in recording.steps]
    return [(v.get("compiled_calls"), v.get("bypassed_calls")) for v in values]


def compiled():
    return torch.compile(Task(), backend="eager")


def test_calls_of_what_was_compiled_are_told_from_those_of_the_module_inside():
    net = compiled()
    assert counts(net, net.loss) == [(0.0, 1.0)] * 2
    assert counts(net, lambda x: net._orig_mod(x).sum()) == [(0.0, 1.0)] * 2
    assert counts(net, lambda x: net(x).sum()) == [(1.0, 0.0)] * 2
    assert counts(net, lambda x: net.forward(x).sum()) == [(1.0, 0.0)] * 2


def test_an_eager_evaluation_passes_nothing_by():
    net = compiled()

    def loss(inputs):
        with torch.no_grad():
            net.loss(inputs)
        return net(inputs).sum()

    assert counts(net, loss) == [(1.0, 0.0)] * 2


def test_what_is_eager_on_purpose_is_not_counted():
    net = compiled()
    with torch.compiler.set_stance("force_eager"):
        assert counts(net, lambda x: net(x).sum()) == [(0.0, 0.0)] * 2
    disabled = torch.compiler.disable(Task())
    assert counts(disabled, lambda x: disabled(x).sum()) == [(None, None)] * 2


def test_models_that_are_not_wrapped_have_no_counts():
    in_place = Task()
    in_place.compile(backend="eager")
    assert counts(in_place, in_place.loss) == [(None, None)] * 2
    stack = torch.compile(torch.nn.Sequential(Task()), backend="eager")
    assert counts(stack, lambda x: stack(x).sum()) == [(None, None)] * 2
