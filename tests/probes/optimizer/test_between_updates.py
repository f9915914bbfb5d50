"""What an evaluation and others do to weights between two updates."""

import pytest
import torch

from ftlab.probes.optimizer.between_updates import BetweenUpdates
from tests.models import update
from tests.probes.recording import Recording


class Loop:
    """A model whose trainer does something after each step."""

    def __init__(self):
        torch.manual_seed(0)
        parts = [torch.nn.Linear(4, 4) for _ in range(4)]
        self.model = torch.nn.Sequential(*parts, torch.nn.Linear(4, 1))
        self.first = self.last = self.copied()

    def copied(self):
        return [p.detach().clone() for p in self.model.parameters()]

    def put(self, values):
        for weight, value in zip(self.model.parameters(), values, strict=True):
            weight.data.copy_(value)

    def evaluate(self):
        with torch.no_grad():
            self.model(torch.ones(2, 4))

    def run(self, after, steps=4):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        with Recording(self.model, optimizer, probes=[BetweenUpdates()]) as recording:
            for _ in range(steps):
                update(self.model(torch.ones(2, 4)).sum(), optimizer)
                after(self)
        return [each.values for each in recording.steps]


def column(rows, name):
    return [row.get(name) for row in rows]


def nothing(loop):
    pass


def home(loop):
    loop.put(loop.first)


def swapped_and_back(loop):
    kept = loop.copied()
    loop.put(loop.first)
    loop.evaluate()
    loop.put(kept)


def swapped_and_kept(loop):
    loop.put(loop.first)
    loop.evaluate()


def half_way(loop):
    loop.last = [(a + b) / 2 for a, b in zip(loop.last, loop.copied(), strict=True)]
    loop.put(loop.last)
    loop.evaluate()


def evaluated_and_moved(loop):
    swapped_and_kept(loop)
    loop.put([weight + 1 for weight in loop.first])


def rolled_back(loop):
    loop.evaluate()
    loop.put(loop.first)


@pytest.mark.parametrize(
    ("after", "written", "back"),
    [(nothing, 0, 0), (home, 1, 1), (swapped_and_back, 0, 0), (half_way, 1, 0)],
)
def test_what_is_written_between_two_updates_is_seen(after, written, back):
    rows = Loop().run(after)
    assert column(rows, "weights_written") == [None, written, written, written]
    assert column(rows, "back_at_first") == [None, back, back, back]


@pytest.mark.parametrize(
    ("after", "share"),
    [
        (nothing, None),
        (swapped_and_back, 0.0),
        (swapped_and_kept, 1.0),
        (half_way, 0.5),
        (rolled_back, 0.0),
        (evaluated_and_moved, 0.0),
    ],
)
def test_the_share_that_an_evaluation_leaves_behind_is_measured(after, share):
    for row in Loop().run(after, steps=3)[1:]:
        assert row.get("left_by_evaluation") == pytest.approx(share, abs=1e-4)


def test_weights_that_are_frozen_on_the_way_begin_the_comparison_anew():
    def freeze(loop):
        loop.model[0].requires_grad_(requires_grad=False)

    assert column(Loop().run(freeze), "weights_written") == [None, None, 0, 0]
