"""Which marked blocks are seen to keep what they should compute again."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ftlab.probes.graph.graph_flow import GraphFlow
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
from tests.models import update


class GradientCheckpointingLayer(nn.Module):
    """Looks at its mark, as the class of transformers with this name does."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def forward(self, hidden):
        if vars(self).get("gradient_checkpointing") and self.training:
            return checkpoint(self.inner, hidden, use_reentrant=False)
        return self.inner(hidden)


class Model(nn.Module):
    """Two blocks and a head."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.config = SimpleNamespace()
        self.layers = nn.ModuleList(GradientCheckpointingLayer() for _ in range(2))
        self.head = nn.Linear(4, 1)
        self.used = True

    def forward(self, hidden):
        last = hidden
        for layer in self.layers:
            last = layer(last)
        return self.head(last if self.used else hidden).sum()


def marked_model(*numbers):
    model = Model()
    for number in numbers:
        model.layers[number].gradient_checkpointing = True
    return model


def patch(layer):
    layer.forward = lambda hidden: layer.inner(hidden)


def kept(model, **arguments):
    records = []
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad])
    subject = Subject(model, [optimizer], training={"args": arguments})
    with Recorder(subject, [GraphFlow(4)], records.append):
        for _ in range(2):
            update(model(torch.ones(2, 4)), optimizer)
    rows = [r for r in records if isinstance(r, NameRecord) and r.table == "kept"]
    return {row.name: row.meta["kind"] for row in rows}


def test_a_block_that_runs_again_is_nothing():
    assert kept(marked_model(0, 1)) == {}


def test_a_block_that_is_not_marked_is_nothing():
    assert kept(marked_model(0)) == {}
    assert kept(Model()) == {}


def test_a_marked_block_with_another_forward_is_named():
    model = marked_model(0, 1)
    patch(model.layers[1])
    assert kept(model) == {"layers.1": "block"}


def test_a_mark_that_nothing_looks_at_is_named():
    model = Model()
    model.gradient_checkpointing = True
    assert kept(model) == {"model": "mark"}
    model.layers[0].gradient_checkpointing = True
    assert kept(model) == {}


def test_a_configuration_and_arguments_that_ask_are_told():
    model = Model()
    assert kept(model, gradient_checkpointing=True) == {"model": "arguments"}
    assert kept(marked_model(1), gradient_checkpointing=True) == {}
    model.config.gradient_checkpointing = True
    assert kept(model) == {"model": "config"}


def off(model):
    model.layers.eval()


def frozen(model):
    model.layers.requires_grad_(requires_grad=False)


def stored(model):
    for layer in model.layers:
        layer._gradient_checkpointing_func = SimpleNamespace(__module__="offloading")


def compiled(model):
    for layer in model.layers:
        layer.inner[0].compile(backend="eager")


def unused(model):
    model.used = False


@pytest.mark.parametrize("change", [off, frozen, stored, compiled, unused])
def test_a_block_that_has_nothing_to_drop_or_cannot_be_seen_is_left_alone(change):
    model = marked_model(0, 1)
    for layer in model.layers:
        patch(layer)
    assert len(kept(model)) == 2
    change(model)
    assert kept(model) == {}
