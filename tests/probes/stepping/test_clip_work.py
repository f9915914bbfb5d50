"""Clipping is noted with how much of the model it covers, and gradients before it."""

import pytest
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from tests.probes.recording import Recording, true_norms


def clipped(act, scaler=None):
    """Run one step with ``act`` in the place of clipping; return what was recorded."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, scaler=scaler) as recording:
        loss = model(torch.ones(2, 4)).sum()
        (loss if scaler is None else scaler.scale(loss)).backward()
        norms = true_norms(model)
        act(model, optimizer)
        optimizer.step() if scaler is None else scaler.step(optimizer)
    return recording, norms


def entries(recording):
    return [dict(each.detail) for each in recording.ledger(0) if each.op == "clip"]


def test_gradients_are_measured_before_they_are_clipped():
    recording, norms = clipped(lambda m, _: clip_grad_norm_(m.parameters(), 1e-3))
    assert recording.column(0) == pytest.approx(norms, rel=1e-5)
    assert recording.column(0, "grad_l2_after") == {}


def test_how_much_of_the_model_it_covers_is_noted():
    recording, _ = clipped(lambda m, _: clip_grad_norm_(m[1].parameters(), 1e-3))
    (entry,) = entries(recording)
    assert (entry["count"], entry["of"], entry["max_norm"]) == (2, 4, 1e-3)


def test_the_norm_that_torch_found_and_the_factor_come_with_it():
    recording, norms = clipped(lambda m, _: clip_grad_norm_(m.parameters(), 0.5))
    total = sum(norm**2 for norm in norms.values()) ** 0.5
    (entry,) = entries(recording)
    assert entry["total_norm"] == pytest.approx(total, rel=1e-5)
    assert recording.steps[0].clip_coefficient == pytest.approx(0.5 / total, rel=1e-4)


def test_clipping_by_value_has_no_factor():
    recording, _ = clipped(lambda m, _: clip_grad_value_(m.parameters(), 0.5))
    (entry,) = entries(recording)
    assert "total_norm" not in entry
    assert recording.steps[0].clip_coefficient is None


def test_two_calls_have_no_single_factor():
    def each_part(model, _):
        for part in model:
            clip_grad_norm_(part.parameters(), 0.5)

    recording, _ = clipped(each_part)
    assert [entry["times"] for entry in entries(recording)] == [2]
    assert recording.steps[0].clip_coefficient is None
    assert recording.steps[0].values["clips"] == 2


def test_another_models_parameters_are_passed_over():
    other = nn.Linear(2, 2)
    other(torch.ones(1, 2)).sum().backward()
    recording, _ = clipped(lambda *_: clip_grad_norm_(other.parameters(), 0.5))
    assert entries(recording) == []
    assert "clips" not in recording.steps[0].values


@pytest.mark.parametrize("first", [True, False], ids=["unscaled", "scaled"])
def test_whether_gradients_were_still_scaled_is_noted(first):
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)

    def act(model, optimizer):
        if first:
            scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 0.5)

    recording, norms = clipped(act, scaler)
    assert [entry["scaled"] for entry in entries(recording)] == [not first]
    true = {name: norm / 8.0 for name, norm in norms.items()}
    assert recording.column(0) == pytest.approx(true, rel=1e-5)


def recorded(act, groups=None):
    """Run one step of a model of two layers, one group each where asked."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    parts = [{"params": [*part.parameters()]} for part in model]
    optimizer = torch.optim.SGD(parts if groups else model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        model(torch.ones(2, 4)).sum().backward()
        act(model)
        optimizer.step()
    return recording


@pytest.mark.filterwarnings("ignore:`parameters` is an empty generator")
@pytest.mark.parametrize(
    ("chosen", "given"),
    [
        (lambda _: (p for p in ()), 0),
        (lambda model: [p.data for p in model.parameters()], 4),
        (lambda model: [p.grad for p in model.parameters()], 4),
        (lambda model: [p * 1 for p in model.parameters()], 4),
        (lambda _: nn.Linear(4, 4).parameters(), 2),
    ],
)
def test_clipping_what_has_no_gradient_is_noted(chosen, given):
    recording = recorded(lambda model: clip_grad_norm_(chosen(model), 0.5))
    (entry,) = entries(recording)
    assert (entry["count"], entry["of"], entry["given"]) == (0, 4, given)
    assert "clips" not in recording.steps[0].values


def test_what_no_call_has_covered_is_named_with_the_groups():
    recording = recorded(lambda m: clip_grad_norm_(m[0].parameters(), 1.0), groups=True)
    (entry,) = entries(recording)
    names = {row: record.name for row, record in recording.names.items()}
    assert [names[row] for row in entry["left_out"]] == ["1.weight", "1.bias"]
    assert (entry["left_out_count"], entry["groups"]) == (2, [True, False])


def test_nothing_is_left_out_by_two_calls_that_cover_all():
    def each_part(model):
        for part in model:
            clip_grad_norm_(part.parameters(), 0.5)

    assert "left_out" not in entries(recorded(each_part))[0]


@pytest.mark.parametrize(("limit", "share"), [(1e-9, 1.0), (1e9, 0.0), (-1.0, 1.0)])
def test_the_share_of_values_beyond_the_limit_is_measured(limit, share):
    recording = recorded(lambda m: clip_grad_value_(m.parameters(), limit))
    assert entries(recording)[0]["beyond"] == share


@pytest.mark.parametrize("limit", [1e-9, 0.3, 1e9])
def test_what_is_left_of_the_norm_is_measured(limit):
    norms = []

    def clip(model):
        weights = [*model.parameters()]
        norms.append(torch.cat([each.grad.flatten() for each in weights]).norm())
        clip_grad_value_(weights, limit)
        norms.append(torch.cat([each.grad.flatten() for each in weights]).norm())

    recording = recorded(clip)
    assert entries(recording)[0]["kept"] == pytest.approx(float(norms[1] / norms[0]))
