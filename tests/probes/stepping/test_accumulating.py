"""Whether an update comes while accelerate is gathering."""

import sys
from types import SimpleNamespace

import pytest
import torch

from ftlab.probes.stepping.accumulating import (
    divided_by,
    micro_batches_to_gather,
    tell_where,
)


def accelerate_says(monkeypatch, state):
    module = SimpleNamespace(GradientState=SimpleNamespace(_shared_state=state))
    monkeypatch.setitem(sys.modules, "accelerate.state", module)


@pytest.mark.parametrize(
    ("state", "gathered"),
    [
        ({}, 0),
        ({"sync_gradients": True, "plugin_kwargs": {"num_steps": 4}}, 0),
        ({"sync_gradients": False, "plugin_kwargs": {"num_steps": 4}}, 4),
        ({"sync_gradients": False, "plugin_kwargs": {"num_steps": 1}}, 0),
        ({"sync_gradients": False}, 0),
    ],
)
def test_only_what_accelerate_is_in_the_middle_of_counts(monkeypatch, state, gathered):
    accelerate_says(monkeypatch, state)
    assert micro_batches_to_gather() == gathered


def test_without_accelerate_nothing_is_gathered(monkeypatch):
    monkeypatch.delitem(sys.modules, "accelerate.state", raising=False)
    assert micro_batches_to_gather() == 0


def test_the_names_are_those_that_accelerate_uses():
    state = pytest.importorskip("accelerate.state")
    made = state.GradientState()
    made._set_sync_gradients(False)
    made.plugin_kwargs = {"num_steps": 3}
    try:
        assert micro_batches_to_gather() == 3
    finally:
        state.GradientState._reset_state()


def test_an_entry_says_where_its_update_was_made(monkeypatch):
    accelerate_says(monkeypatch, {})
    entry = {"detail": {}}
    tell_where(entry, within=False)
    assert entry["detail"] == {}
    tell_where(entry, within=True)
    assert entry["detail"] == {"within": True}


def test_an_entry_says_that_the_data_is_at_its_end(monkeypatch):
    loader = SimpleNamespace(end_of_dataloader=True)
    loaders = [None, lambda: loader]
    state = {"plugin_kwargs": {"num_steps": 4}, "_dataloader_references_ref": loaders}
    accelerate_says(monkeypatch, state)
    entry = {"detail": {}}
    tell_where(entry, within=False)
    assert entry["detail"] == {"end_of_data": True}
    loader.end_of_dataloader = False
    entry = {"detail": {}}
    tell_where(entry, within=False)
    assert entry["detail"] == {}


def test_the_end_of_the_data_is_where_accelerate_has_it():
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=4)
    loader = accelerator.prepare(torch.utils.data.DataLoader(range(3)))
    seen = []
    try:
        for _ in loader:
            entry = {"detail": {}}
            tell_where(entry, within=False)
            seen.append(entry["detail"].get("end_of_data", False))
    finally:
        accelerate.state.GradientState._reset_state()
    assert seen == [False, False, True]


def test_accelerate_divides_only_what_it_calls_backward_of_itself(monkeypatch):
    accelerate = pytest.importorskip("accelerate")
    told = []
    own = torch.Tensor.backward

    def around(tensor, *args, **kwargs):
        told.append(divided_by())
        own(tensor, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "backward", around)
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=4)
    try:
        accelerator.backward(torch.ones(1, requires_grad=True) * 1)
        torch.ones(1, requires_grad=True).backward()
    finally:
        accelerate.state.GradientState._reset_state()
    assert told == [4, 0]
