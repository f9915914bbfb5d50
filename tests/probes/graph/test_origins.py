import gc
import weakref

import pytest
import torch

from ftlab.probes.graph.origins import Origins
from ftlab.probes.tensors.gradients import Gradients
from ftlab.records.event import Event
from tests.probes.recording import Recording


def train(*loss_of, device="cpu", update=True):
    """Origins that were told of, one loss for each step."""
    model = torch.nn.Linear(2, 2, bias=False, device=device)
    torch.nn.init.eye_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    probes = [Gradients(), Origins()]
    with Recording(model, optimizer, probes=probes) as recording:
        for each in loss_of:
            optimizer.zero_grad()
            each(model(torch.eye(2, device=device))).backward()
            if not update:
                optimizer.zero_grad()
            optimizer.step()
    found = [each for each in recording.records if isinstance(each, Event)]
    return [(each.step, each.detail["of"], each.detail["ops"]) for each in found]


def fine(x):
    return x.square().sum()


def log_of_zero(x):
    return (x * x.log()).sum()


def root_of_zero(x):
    return x.sum() + (x[0, 1] ** 2).sqrt()


def test_the_operation_of_a_nan_loss_is_told():
    assert train(fine, log_of_zero) == [(1, "loss", ["log", "mul"])]


def test_so_is_one_at_a_step_that_is_not_due():
    assert train(*[fine] * 6, log_of_zero) == [(6, "loss", ["log", "mul"])]


def test_the_operation_of_nan_gradients_is_told():
    assert train(fine, root_of_zero) == [(1, "gradients", ["sqrt"])]


def test_a_steep_place_whose_gradient_is_finite_is_not_told():
    assert train(lambda x: x.sum() + 0 * x.detach().sqrt().sum(), fine) == []

    def left_out(x):
        return x.sum() + (x[0, 1:1] ** 2).sum().add(1.0).sqrt()

    assert train(left_out) == []


def test_a_weight_that_is_nan_tells_nothing():
    model = torch.nn.Linear(2, 2)
    torch.nn.init.constant_(model.weight, torch.nan)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with Recording(model, optimizer, probes=[Origins()]) as recording:
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    assert not any(isinstance(each, Event) for each in recording.records)


def test_nothing_is_kept_alive():
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with Recording(model, optimizer, probes=[Origins()]):
        hidden = model(torch.ones(1, 2)).exp()
        alive = weakref.ref(hidden)
        hidden.sum().backward()
        optimizer.step()
        del hidden
        gc.collect()
        assert alive() is None


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_on_a_gpu_the_next_loss_is_looked_at_while_the_weights_are_numbers():
    losses = [*[fine] * 6, *[log_of_zero] * 6]
    found = train(*losses, device="cuda", update=False)
    assert found
    assert found[0][1:] == ("loss", ["log", "mul"])
    assert found[0][0] > 6
