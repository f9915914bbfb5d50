"""A step that catches everything is taken back all the same."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import FtlabWarning, NotReplayableError
from ftlab.replay.unwinding import PATIENCE, Unwinding

BAD = 2


class Loop:
    """A tiny model whose loss is infinite at the batch ``bad``."""

    def __init__(self, bad: int | None = BAD) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.5)
        self.feed = list(torch.randn(4, 3, 4))
        self.bad = None if bad is None else self.feed[bad]

    def plain(self, batch: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = self.model(batch).square().mean()
        if batch is self.bad:
            loss = loss + (loss * 0).log()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.detach()

    def state(self) -> list[torch.Tensor]:
        moments = [v for s in self.optimizer.state.values() for v in s.values()]
        kept = [p.detach().clone() for p in self.model.parameters()]
        rate = torch.tensor(self.optimizer.param_groups[0]["lr"])
        return [*kept, *(m.clone() for m in moments), rate]


def swallow(loop: Loop, batch: torch.Tensor) -> Any:
    try:
        return loop.plain(batch)
    except:  # noqa: E722
        return None


def swallow_and_step(loop: Loop, batch: torch.Tensor) -> None:
    with contextlib.suppress(BaseException):
        loop.plain(batch)
    if batch is loop.bad:
        loop.optimizer.step()


def return_in_finally(loop: Loop, batch: torch.Tensor) -> Any:
    try:
        return loop.plain(batch)
    finally:
        return None  # noqa: B012, SIM107


def turn_into_another(loop: Loop, batch: torch.Tensor) -> Any:
    try:
        return loop.plain(batch)
    except BaseException as error:
        msg = "the step's own"
        raise RuntimeError(msg) from error


def retry(loop: Loop, batch: torch.Tensor) -> Any:
    while True:
        try:
            return loop.plain(batch)
        except BaseException:  # noqa: BLE001
            continue


def retry_in_the_handler(loop: Loop, batch: torch.Tensor) -> Any:
    try:
        return loop.plain(batch)
    except:  # noqa: E722
        return swallow(loop, batch)


SWALLOWING = [
    swallow,
    swallow_and_step,
    return_in_finally,
    turn_into_another,
    retry,
    retry_in_the_handler,
]


def debugging(loop: Loop, swallowing: Callable[..., Any]) -> Any:
    def step(batch: torch.Tensor) -> Any:
        return swallowing(loop, batch)

    return ftlab.debug(step, loop.feed, model=loop.model, optimizer=loop.optimizer)


@pytest.fixture
def before():
    """What the weights are where the bad step begins."""
    loop = Loop()
    for batch in loop.feed[:BAD]:
        loop.plain(batch)
    return loop.state()


@pytest.mark.parametrize("swallowing", SWALLOWING)
def test_a_step_that_catches_everything_is_stopped_in(swallowing, before):
    loop = Loop()
    caught = pytest.warns(FtlabWarning, match=r"test_unwinding.py:\d+ \w+\. It was")
    with caught as heard, debugging(loop, swallowing) as dbg:
        report = dbg.run()
        assert (report.reason, report.step, report.op) == (
            "anomaly",
            BAD,
            "aten.log.default",
        )
        assert swallowing.__name__ in report.notes[0]
        assert dbg.back().site.index == report.site.index - 1
        assert dbg.step().site == report.site
        assert all(map(torch.equal, loop.state(), before))
        dbg.abort()
    assert dbg.state == "aborted"
    assert all(map(torch.equal, loop.state(), before))
    assert len(heard) == 1


@pytest.mark.parametrize("swallowing", SWALLOWING)
def test_going_back_in_it_changes_no_bit(swallowing):
    bare, loop = Loop(bad=None), Loop(bad=None)
    for batch in bare.feed:
        bare.plain(batch)
    interrupted: list[bool] = []

    def step(batch: torch.Tensor) -> Any:
        if batch is loop.feed[1] and not interrupted:
            interrupted.append(True)
            dbg.interrupt()
        return swallowing(loop, batch)

    debugger = ftlab.debug(step, loop.feed, model=loop.model, optimizer=loop.optimizer)
    with pytest.warns(FtlabWarning), debugger as dbg:  # noqa: PT031
        assert dbg.run().reason == "interrupt"
        assert dbg.back(count=3).reason == "back"
        assert dbg.back(count=3).reason == "back"
        dbg.resume()
    assert dbg.state == "finished"
    assert all(map(torch.equal, loop.state(), bare.state()))


def test_what_a_finally_does_is_not_cut_short():
    loop = Loop()
    ended: list[bool] = []

    def step(batch: torch.Tensor) -> Any:
        try:
            return loop.plain(batch)
        finally:
            ended.append(bool((batch + 1).sum() != 0))

    with ftlab.debug(
        step, loop.feed, model=loop.model, optimizer=loop.optimizer
    ) as dbg:
        report = dbg.run()
        assert report.notes == ()
        dbg.back()
        assert len(ended) == BAD + 3  # the first run, the survey, the one gone back in


def test_an_error_of_a_policy_comes_out_of_a_step_that_catches_it():
    loop = Loop()

    def policy(_: Any) -> str:
        msg = "of the policy"
        raise ValueError(msg)

    def step(batch: torch.Tensor) -> Any:
        return swallow(loop, batch)

    dbg = ftlab.debug(step, loop.feed, model=loop.model, on_pause=policy)
    with pytest.raises(ValueError, match="of the policy"), pytest.warns(FtlabWarning):
        dbg.run()


def test_a_refusal_comes_out_of_a_step_that_catches_it():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.weight.register_post_accumulate_grad_hook(lambda _: optimizer.step())

    def step(batch):
        with contextlib.suppress(Exception):
            model(batch).sum().backward()

    refused = pytest.raises(NotReplayableError, match=r"SGD.step\(\) runs inside")
    dbg = ftlab.debug(step, [torch.ones(1, 2)], model=model)
    with refused, pytest.warns(FtlabWarning):
        dbg.run()


def test_is_raised_again_only_so_often():
    unwinding, tries = Unwinding(), []

    def step() -> None:
        with contextlib.suppress(KeyError):
            unwinding.leave(KeyError())
        while True:
            try:
                tries.append(unwinding.insist())
            except KeyError:
                continue
            break

    with pytest.raises(KeyError), pytest.warns(FtlabWarning):
        unwinding.call(step)
    assert tries == [True]
    assert unwinding._again == PATIENCE
