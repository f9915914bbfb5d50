import torch

from ftlab.probes.optimizer.kept_moments import KeptMoments
from tests.models import batches, tiny_lora
from tests.probes.moments_of import Bench


class Loop:
    """Trains, and asks the probe as the recorder does."""

    def __init__(self, kind=torch.optim.AdamW, **settings):
        self.model = tiny_lora()
        self.kind, self.settings = kind, settings
        self.bench = Bench(self.model)
        self.probe = KeptMoments()
        self.optimizer = self.make()
        self.tensors = self.bench.moment().tensors

    def make(self):
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        return self.kind(parameters, lr=1e-3, **self.settings)

    def step(self):
        """The two counts after one more step."""
        if self.optimizer not in self.bench.subject.optimizers:
            self.bench.subject.add_optimizer(self.optimizer)
        moment = self.bench.moment()
        self.model(**next(batches(1))).loss.backward()
        assert list(self.probe.before_update(moment)) == []
        self.optimizer.step()
        assert list(self.probe.after_update(moment)) == []
        return tuple(self.probe.on_close(moment).values())


def test_an_optimizer_that_goes_on_keeps_its_moments():
    loop = Loop()
    assert [loop.step() for _ in range(3)] == [(0, 0)] * 3


def test_counts_an_optimizer_that_is_made_anew():
    loop = Loop()
    counts = []
    for _ in range(3):
        loop.optimizer = loop.make()
        counts.append(loop.step())
    assert counts == [(0, 0), (1, 0), (2, 0)]


def test_one_at_the_address_of_the_one_before_is_another_one():
    loop, ids = Loop(), set()
    for _ in range(9):
        del loop.optimizer
        loop.optimizer = loop.make()
        ids.add(id(loop.optimizer))
        counts = loop.step()
    assert len(ids) < 9
    assert counts == (8, 0)


def test_one_that_is_gone_is_not_taken_for_the_holder():
    loop = Loop()
    loop.step()
    loop.bench.subject.add_optimizer(loop.make())
    loop.step()
    loop.optimizer.state.clear()
    assert loop.step() == (1, 1)


def test_counts_a_state_that_is_cleared():
    loop = Loop()
    loop.step()
    loop.optimizer.state.clear()
    assert [loop.step(), loop.step()] == [(1, 1), (1, 1)]


def test_a_state_that_is_loaded_is_no_new_beginning():
    loop = Loop()
    loop.step()
    old, loop.optimizer = loop.optimizer, loop.make()
    loop.optimizer.load_state_dict(old.state_dict())
    assert loop.step() == (0, 0)


def test_an_optimizer_that_waits_for_its_turn_has_lost_nothing():
    loop = Loop()
    loop.step()
    loop.bench.subject.add_optimizer(waiting := loop.make())
    assert [loop.step() for _ in range(3)] == [(0, 0)] * 3
    assert waiting in loop.bench.subject.optimizers


def test_an_optimizer_without_moments_has_none_to_lose():
    loop = Loop(torch.optim.SGD)
    counts = []
    for _ in range(3):
        loop.optimizer = loop.make()
        counts.append(loop.step())
    assert counts == [(0, 0)] * 3


def test_looking_leaves_no_entry_in_the_optimizer():
    loop = Loop()
    loop.step()
    loop.bench.subject.add_optimizer(waiting := loop.make())
    loop.step()
    assert len(waiting.state) == 0
