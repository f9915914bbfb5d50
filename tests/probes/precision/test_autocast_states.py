"""How much of a step's forward autocast is on in, and who switched it on."""

from types import MethodType

import pytest
import torch
from torch import nn

from ftlab.probes.graph.graph_flow import GraphFlow
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from tests.models import update


class Model(nn.Module):
    """Two layers, the second of which may be in another precision."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 1)
        self.mixed = None

    def forward(self, hidden):
        hidden = self.first(hidden)
        if self.mixed is None:
            return self.second(hidden).sum()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.mixed):
            return self.second(hidden.float()).sum()


def wrap(model, **settings):
    cast = torch.autocast("cpu", torch.bfloat16, **settings)
    model.forward = MethodType(cast(type(model).forward), model)


def unwrap(model):
    model.forward = MethodType(type(model).forward, model)


def seen(model, changes, steps=6):
    """Train; ``changes``: what is done to the model before a step."""
    records = []
    optimizer = torch.optim.SGD(model.parameters())
    subject = Subject(model, [optimizer])
    with Recorder(subject, [GraphFlow(16)], records.append):
        for step in range(steps):
            changes.get(step, lambda _: None)(model)
            update(model(torch.ones(2, 4)), optimizer)
    blocks = [r for r in records if isinstance(r, Block) and r.table == "autocast"]
    columns = ("calls", "inside", "wrapped")
    rows = {b.step: [float(b.values[name][0]) for name in columns] for b in blocks}
    names = [r for r in records if isinstance(r, NameRecord) and r.table == "autocast"]
    return rows, names


def test_a_wrapper_that_is_taken_off_is_seen_at_once():
    rows, names = seen(Model(), {0: wrap, 3: unwrap})
    assert rows[0] == [2.0, 2.0, 1.0]
    assert rows[3] == [2.0, 0.0, 0.0]
    assert (names[0].name, names[0].meta["dtype"]) == ("model", "bfloat16")


def test_the_step_after_one_without_is_looked_at_too():
    rows, _ = seen(Model(), {0: wrap, 7: unwrap}, steps=12)
    assert list(rows) == [0, 1, 2, 3, 4, 8, 9]


def full(model):
    wrap(model)
    model.mixed = False


def test_parts_in_full_precision_are_counted_apart():
    rows, _ = seen(Model(), {0: full}, steps=2)
    assert rows[0] == [2.0, 1.0, 1.0]


def mixed(model):
    model.mixed = True


def by_itself(model):
    unwrap(model)
    mixed(model)


def test_autocast_that_goes_on_without_the_wrapper_is_told_apart():
    rows, _ = seen(Model(), {0: wrap, 2: by_itself}, steps=4)
    assert rows[3] == [2.0, 1.0, 0.0]


@pytest.mark.parametrize("change", [mixed, lambda model: wrap(model, enabled=False)])
def test_without_a_wrapper_that_switches_it_on_there_is_nothing(change):
    assert seen(Model(), {0: change}) == ({}, [])
