"""Which updates are still there when the next one is made."""

import pytest
import torch

from ftlab.probes.optimizer.put_back import PutBack
from tests.models import update
from tests.probes.recording import Recording


def run(between=None, steps=4, inputs=1.0, dtype=torch.float32):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 1)).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[PutBack(2)]) as recording:
        for step in range(steps):
            kept = [p.detach().clone() for p in model.parameters()]
            update(model(torch.full((2, 4), inputs, dtype=dtype)).sum(), optimizer)
            if between is not None:
                between(list(model.parameters()), kept, step)
    names = ("updates_compared", "updates_put_back")
    return [tuple(map(each.values.get, names)) for each in recording.steps]


def restore(weights, kept, step):
    for weight, before in zip(weights, kept, strict=True):
        weight.data.copy_(before)


def restore_all_but_one_element(weights, kept, step):
    restore(weights, kept, step)
    for weight in weights:
        weight.data.view(-1)[0] += 1e-6


def shrink(weights, kept, step):
    for weight in weights:
        weight.data.mul_(0.9)


def test_an_update_that_stays_is_compared_at_the_next_one():
    assert run() == [(None, None), (4, 0), (4, 0), (4, 0)]


def test_an_update_that_is_taken_back_is_counted_tensor_by_tensor():
    assert run(restore)[1:] == [(4, 4)] * 3


@pytest.mark.parametrize("between", [restore_all_but_one_element, shrink])
def test_what_is_changed_otherwise_is_not_put_back(between):
    assert [row[1] for row in run(between)[1:]] == [0, 0, 0]


def test_a_tensor_that_the_update_left_alone_is_not_compared():
    assert run(inputs=0.0)[1] == (3, 0)


def test_an_update_by_two_optimizers_is_one():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 1))
    halves = [torch.optim.SGD(each.parameters(), lr=0.1) for each in model]
    with Recording(model, *halves, probes=[PutBack(2)]) as recording:
        for _ in range(2):
            model(torch.ones(2, 4)).sum().backward()
            for half in halves:
                half.step()
                half.zero_grad()
    assert recording.steps[1].values["updates_compared"] == 4


def test_only_due_updates_are_looked_at():
    compared = [row[0] is not None for row in run(steps=9)]
    assert compared == [False, True, True, True, True, True, False, True, False]
