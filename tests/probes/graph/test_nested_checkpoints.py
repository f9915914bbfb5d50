"""Which checkpoints are seen to lie in one another around the same modules."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ftlab.probes.graph.graph_flow import GraphFlow
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from tests.models import update


class Scaled(nn.Module):
    """A checkpointed layer, and a parameter of its own besides."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.inner = nn.Linear(4, 4)

    def forward(self, hidden):
        return again(self.inner, hidden) * self.weight


class Part(nn.Module):
    """Two layers, and a way to run them."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        self.outer = nn.Identity()
        self.scaled = Scaled()
        self.run = plainly

    def forward(self, hidden):
        return self.run(self, hidden)


class Model(nn.Module):
    """Two blocks, run one by one or as one stage."""

    def __init__(self, run, *, stage=False):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = Part(), Part()
        self.first.run = self.second.run = run
        self.stage = stage

    def both(self, hidden):
        return self.second(self.first(hidden))

    def forward(self, hidden):
        whole = again(self.both, hidden) if self.stage else self.both(hidden)
        return whole.sum()


def again(function, hidden, reentrant=True):
    return checkpoint(function, hidden, use_reentrant=reentrant)


def plainly(block, hidden):
    return block.inner(hidden)


def once(block, hidden):
    return again(block.inner, hidden)


def twice(block, hidden):
    return again(lambda given: again(block.inner, given), hidden)


def twice_without_reentry(block, hidden):
    return again(lambda given: again(block.inner, given, False), hidden, False)


def more_around(block, hidden):
    return again(lambda given: block.outer(again(block.inner, given)), hidden)


def weight_around(block, hidden):
    return again(block.scaled, hidden)


def nested(model):
    records = []
    optimizer = torch.optim.SGD(model.parameters())
    subject = Subject(model, [optimizer])
    with Recorder(subject, [GraphFlow(4)], records.append):
        for _ in range(3):
            update(model(torch.ones(2, 4, requires_grad=True)), optimizer)
    names = [r for r in records if isinstance(r, NameRecord)]
    rows = {r.id: r for r in names if r.table == "nested_checkpoints"}
    blocks = [r for r in records if isinstance(r, Block)]
    found = [b for b in blocks if b.table == "nested_checkpoints"]
    return {rows[i].name: b.values["runs"].tolist() for b in found for i in b.ids}


def test_two_around_the_same_modules_are_named_with_how_often_these_ran():
    assert nested(Model(twice)) == {
        "first.inner": [3.0, 3.0],
        "second.inner": [3.0, 3.0],
    }


@pytest.mark.parametrize(
    "run", [plainly, once, twice_without_reentry, more_around, weight_around]
)
def test_what_runs_once_more_or_holds_more_is_nothing(run):
    assert nested(Model(run)) == {}


def test_single_blocks_within_a_stage_are_nothing():
    assert nested(Model(once, stage=True)) == {}


def test_both_around_a_block_within_a_stage_are_named():
    assert set(nested(Model(twice, stage=True))) == {"first.inner", "second.inner"}
