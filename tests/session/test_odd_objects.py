"""Objects of the user that compare tensors, or refuse to be compared at all."""

import warnings
from typing import Any

import pytest
import torch

import ftlab
from ftlab.session.autowatch import Autowatch


class Odd:
    """Whoever asks this object for more than it is gets an error."""

    def __eq__(self, other: object) -> Any:
        raise RuntimeError("compared")

    def __hash__(self) -> int:
        return 7

    def __bool__(self) -> bool:
        raise RuntimeError("asked for its truth")


class Model(Odd, torch.nn.Sequential):
    def __len__(self) -> int:
        raise RuntimeError("asked for its length")


class Optimizer(Odd, torch.optim.AdamW):
    pass


class Scheduler(Odd, torch.optim.lr_scheduler.StepLR):
    pass


class Scaler(Odd, torch.amp.GradScaler):
    pass


@pytest.fixture(autouse=True)
def _told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class Parts:
    def __init__(self) -> None:
        self.model = Model(torch.nn.Linear(2, 2), torch.nn.Tanh())
        self.optimizer = Optimizer(self.model.parameters(), lr=0.1)
        self.scheduler = Scheduler(self.optimizer, 1)
        self.scaler = Scaler("cpu")

    def step(self, x: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(x).pow(2).mean()).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()


FEED = [torch.ones(3, 2) for _ in range(4)]


def test_are_watched_and_debugged(tmp_path):
    other, parts = Parts(), Parts()
    objects = {"scheduler": parts.scheduler, "scaler": parts.scaler}
    with (
        ftlab.watch(other.model, other.optimizer, run_dir=tmp_path / "other"),
        ftlab.watch(
            parts.model, parts.optimizer, run_dir=tmp_path / "run", **objects
        ) as watch,
        ftlab.debug(
            parts.step, FEED, model=parts.model, optimizer=parts.optimizer
        ) as dbg,
    ):
        assert dbg.run().state == "finished"
    assert len(watch.run.steps) == len(FEED)
    assert watch.run.steps["loss"].all()
    assert watch.findings is not None


def test_are_found_among_variables(tmp_path):
    found: list[Any] = []
    with Autowatch(found.append, run_dir=tmp_path / "run"):
        _script(**vars(Parts()))
    (watch,) = found
    assert len(watch.run.steps) == len(FEED)


def _script(**variables: Any) -> None:
    parts = Parts()
    vars(parts).update(variables)
    for x in FEED:
        parts.step(x)


def test_are_looked_at_before_a_run():
    parts = Parts()
    ftlab.preflight(model=parts.model, batch=FEED[0], optimizer=parts.optimizer)
    with ftlab.assert_learning(parts.model):
        parts.step(FEED[0])
