"""A capsule goes back to the start of a step, or says why it cannot."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ftlab
from ftlab.records.errors import NotReplayableError
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.capsules.inputs import KeptInputs
from ftlab.replay.capsules.rng import RngState


def capsule_of(model, **options):
    return Capsule(model, KeptInputs((), {}), **options)


def test_modes_buffers_gradients_and_random_state_come_back():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    model[0].weight.grad = torch.ones(2, 2)
    rng, mean = RngState.take(), model[1].running_mean.clone()
    capsule = capsule_of(model)
    model(torch.randn(4, 2)).sum().backward()
    model.eval()
    np.random.rand(2)
    torch.set_grad_enabled(False)
    capsule.restore()
    assert torch.is_grad_enabled()
    assert all(module.training for module in model.modules())
    assert torch.equal(model[1].running_mean, mean)
    assert model[1].num_batches_tracked.item() == 0
    assert model[0].weight.grad.tolist() == [[1, 1], [1, 1]]
    assert model[0].bias.grad is None
    assert RngState.take() == rng


def test_a_buffer_that_was_replaced_is_put_back():
    model = torch.nn.BatchNorm1d(2)
    buffer = model.running_mean
    capsule = capsule_of(model)
    model.running_mean = torch.full((2,), 7.0)
    capsule.restore()
    assert model.running_mean is buffer


def test_a_changed_parameter_is_refused_by_name():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    capsule = capsule_of(model)
    with torch.no_grad():
        model[0].bias.add_(1)
    with pytest.raises(NotReplayableError, match=r"parameter 0\.bias has already"):
        capsule.restore()


def test_gradients_are_copied_when_backward_is_about_to_add_to_them():
    weight = torch.nn.Parameter(torch.ones(70_000))
    model = torch.nn.ParameterList([weight])
    weight.grad = torch.ones_like(weight)
    capsule = capsule_of(model, copy_gradients=False)
    capsule.gradients.before_backward()
    (weight * 2).sum().backward()
    capsule.restore()
    assert weight.grad.unique().tolist() == [1]
    assert not capsule.gradients.rewritten


def test_gradients_that_are_zeroed_in_place_are_seen():
    weight = torch.nn.Parameter(torch.ones(2))
    model = torch.nn.ParameterList([weight])
    weight.grad = torch.ones_like(weight)
    capsule = capsule_of(model, copy_gradients=False)
    weight.grad.zero_()
    capsule.gradients.before_backward()
    assert capsule.gradients.rewritten
    assert "before backward" in str(capsule.obstacle())


def test_a_scaler_is_put_back():
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight])
    capsule = capsule_of(torch.nn.ParameterList([weight]))
    capsule.add_scaler(scaler)
    scaler.scale(weight.sum() * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 4
    capsule.restore()
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8


def test_a_trainers_counters_and_metric_buffers_come_back():
    metrics = {"train": {"entropy": [0.5]}}
    owner = SimpleNamespace(_metrics=metrics, _total_train_tokens=3, model=object())
    capsule = capsule_of(torch.nn.Linear(1, 1), owner=owner)
    metrics["train"]["entropy"].append(0.7)
    metrics["train"]["new"] = [1]
    owner._total_train_tokens = 9
    capsule.restore()
    assert owner._metrics is metrics
    assert metrics == {"train": {"entropy": [0.5]}}
    assert owner._total_train_tokens == 3


def test_a_step_that_changes_weights_through_data_is_not_executed_again():
    model = torch.nn.Linear(2, 1)
    torch.nn.init.ones_(model.weight)
    seen = []

    def step(batch):
        model.zero_grad()
        loss = model(batch).log().sum()
        loss.backward()
        seen.append(batch)
        for parameter in model.parameters():
            parameter.data -= 0.1 * parameter.grad
        return loss.detach()

    feed = [torch.ones(1, 2), torch.full((1, 2), -9.0)]
    with ftlab.debug(step, feed, model=model) as dbg:
        report = dbg.run()
        assert (report.reason, report.replayable) == ("anomaly", False)
        assert "parameter weight has already been changed" in report.notes[-1]
    assert len(seen) == 2


def test_weights_are_sampled_only_on_request_and_nan_is_no_change():
    model = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(model.weight, float("nan"))
    sampled, plain = capsule_of(model, sample_weights=True), capsule_of(model)
    assert sampled.obstacle() is None
    model.weight.data.zero_()
    assert "parameter weight" in (sampled.obstacle() or "")
    assert plain.obstacle() is None


def changed(model, how):
    if how == "replaced":
        model[1] = torch.nn.Dropout()
    elif how == "put in below":
        model[0].inner = torch.nn.Dropout()
    elif how == "taken out":
        del model[1]
    elif how == "past torch":
        model._modules["1"] = torch.nn.Dropout()


@pytest.mark.parametrize(
    "how", ["not", "replaced", "put in below", "taken out", "past torch"]
)
def test_modules_are_found_anew_where_they_are_others(how):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    first = Capsule(model, KeptInputs((), {}))
    changed(model, how)
    second = Capsule(model, KeptInputs((), {}), modules=first.modules)
    assert (second.modules is first.modules) == (how == "not")
    model.eval()
    second.restore()
    assert all(module.training for module in model.modules())
