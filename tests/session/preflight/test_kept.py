"""State that is put back, in the objects that hold it."""

import pytest
import torch

from ftlab.session.preflight.kept import Kept, KeptState, bytes_to_keep


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))


def test_weights_that_a_library_has_swapped_come_back_in_their_own_memory():
    model = net().requires_grad_(requires_grad=False)
    weight = model[0].weight
    memory, values = weight.data_ptr(), weight.detach().clone()
    kept = KeptState(Kept(model))
    weight.data = weight.data.to(torch.bfloat16) * 2
    weight.note = "packed"
    assert kept.restore() == ()
    assert (weight.data_ptr(), weight.dtype) == (memory, torch.float32)
    assert torch.equal(weight, values)
    assert not hasattr(weight, "note")


def test_buffers_modes_flags_and_attributes_come_back():
    model = net()
    model[0].bias.requires_grad_(requires_grad=False)
    before = [buffer.clone() for buffer in model.buffers()]
    kept = KeptState(Kept(model))
    model(torch.ones(5, 3) * 7)
    model.eval().requires_grad_()
    model[0].cache = [1]
    model.register_buffer("late", torch.ones(1))
    model[0].weight = torch.nn.Parameter(torch.zeros(4, 3))
    kept.restore()
    assert all(map(torch.equal, before, model.buffers()))
    assert model.training
    assert model[1].training
    assert not model[0].bias.requires_grad
    assert not hasattr(model[0], "cache")
    assert not hasattr(model, "late")
    assert bool((model[0].weight != 0).all())


@pytest.mark.parametrize("value", [1.0, torch.nan])
def test_nan_and_negative_zero_come_back_bit_for_bit(value):
    model = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[-0.0, value]]))
    kept = KeptState(Kept(model))
    with torch.no_grad():
        model.weight[0, 0] = 0.0
    kept.restore()
    assert torch.signbit(model.weight[0, 0])
    assert torch.equal(model.weight[0, 1].isnan(), torch.tensor(value).isnan())


def test_state_of_many_parameters_comes_back():
    """More of them than a container may have items to be looked into."""
    parameters = [torch.nn.Parameter(torch.ones(1)) for _ in range(1100)]
    model = torch.nn.ParameterList(parameters)
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    for parameter in parameters:
        optimizer.state[parameter] = {"count": 1, "momentum_buffer": torch.ones(1)}
    kept = KeptState(Kept(model, [optimizer]))
    for entry in optimizer.state.values():
        entry["count"] += 1
        entry["momentum_buffer"].mul_(2)
        entry["more"] = 1
    kept.restore()
    entries = list(optimizer.state.values())
    assert {entry["count"] for entry in entries} == {1}
    assert {float(entry["momentum_buffer"]) for entry in entries} == {1.0}
    assert {len(entry) for entry in entries} == {2}


def test_a_stale_weight_of_the_optimizer_comes_back():
    stale = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([stale], lr=0.1)
    kept = KeptState(Kept(net(), [optimizer]))
    stale.grad = torch.ones(2)
    optimizer.step()
    kept.restore()
    assert stale.tolist() == [1.0, 1.0]
    assert stale.grad is None


def test_what_will_be_copied_is_counted():
    model = net()
    trained = sum(each.nbytes for each in model.parameters())
    assert bytes_to_keep(model, []) == trained
    model(torch.ones(2, 3)).sum().backward()
    assert bytes_to_keep(model, []) == 2 * trained


def test_a_gradient_of_another_shape_is_put_back():
    model = torch.nn.Linear(2, 3)
    model(torch.ones(1, 2)).sum().backward()
    gradient = model.weight.grad
    model.weight.data = torch.ones(5, 2)  # as resizing embeddings in place does
    kept = KeptState(Kept(model))
    model.weight.grad = None
    kept.restore()
    assert model.weight.grad is gradient
    assert model.weight.shape == (5, 2)
