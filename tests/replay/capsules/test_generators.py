"""A step that is executed again draws the same numbers from generators of its own."""

import random
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

import ftlab
from ftlab.replay.capsules.generators import KeptGenerators, own_generators


def rows(seed: int) -> DataLoader:
    made = torch.Generator().manual_seed(seed)
    data = TensorDataset(torch.eye(4), torch.arange(4.0))
    return DataLoader(data, batch_size=2, shuffle=True, generator=made)


class Noisy:
    """A step that draws from every kind of generator."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.torch = torch.Generator().manual_seed(1)
        self.python = random.Random(2)
        self.numpy = np.random.default_rng(3)
        self.legacy = np.random.RandomState(4)
        self.loader = rows(5)

    def step(self, scale: float) -> torch.Tensor:
        noise = torch.rand(1, generator=self.torch) + self.python.random()
        noise = noise + self.numpy.random() + self.legacy.rand()
        self.optimizer.zero_grad()
        for batch, wanted in self.loader:
            loss = (self.model(batch * scale + noise)[:, 0] - wanted).square().mean()
            loss.backward()
        self.optimizer.step()
        return loss.detach()


def test_a_replay_draws_the_same_and_the_run_goes_on_alike():
    bare, noisy = Noisy(), Noisy()
    losses = [bare.step(scale) for scale in (1.0, 2.0, 3.0)]

    def policy(report: Any) -> str:
        return "back" if report.reason == "interrupt" else "resume"

    debugger = ftlab.debug(
        noisy.step, [1.0, 2.0, 3.0], model=noisy.model, on_pause=policy
    )
    with debugger as dbg:
        dbg.start()
        dbg.interrupt()
        assert dbg.wait().state == "finished"
        assert torch.stack(dbg.result).equal(torch.stack(losses))
    assert torch.equal(noisy.model.weight, bare.model.weight)


def test_finds_each_generator_once():
    noisy, own = Noisy(), random.Random(0)
    again = own

    def step(_: Any) -> Any:
        return own, again, noisy, rows

    assert len(own_generators(step)) == 6
    assert own_generators(print) == []


def test_restores_every_kind():
    kinds = [
        torch.Generator(),
        random.Random(0),
        np.random.default_rng(0),
        np.random.RandomState(0),
    ]
    draws = (
        lambda: torch.rand(1, generator=kinds[0]),
        kinds[1].random,
        kinds[2].random,
        kinds[3].rand,
    )
    kept = KeptGenerators(kinds)
    first = [draw() for draw in draws]
    kept.restore()
    assert [draw() for draw in draws] == first
