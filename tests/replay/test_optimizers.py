"""What optimizers may do in a debugged step, and what is said of the rest."""

from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import FtlabWarning, NotReplayableError
from ftlab.replay.optimizers import drop_leftovers, has_closure, starve

NAN = float("nan")
CLOSING = [(torch.optim.LBFGS, {"max_iter": 3}), (torch.optim.SGD, {})]


class Closing:
    """A step whose optimizer calls a closure; the loss is NaN at the batch ``bad``."""

    def __init__(self, kind: Any, options: dict[str, Any], bad: int | None) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Linear(4, 1)
        self.optimizer = kind(self.model.parameters(), lr=0.1, **options)
        self.feed = list(torch.randn(4, 3, 4))
        self.bad = bad

    def step(self, batch: torch.Tensor) -> torch.Tensor:
        rows = batch * 1

        def closure() -> torch.Tensor:
            self.optimizer.zero_grad()
            loss = self.model(rows).square().mean()
            if self.bad is not None and batch is self.feed[self.bad]:
                loss = loss * NAN
            loss.backward()
            return loss

        return self.optimizer.step(closure).detach()


@pytest.mark.parametrize(("kind", "options"), CLOSING)
def test_a_closure_is_named_and_changes_no_bit(kind, options):
    bare, setup = Closing(kind, options, None), Closing(kind, options, None)
    for batch in bare.feed:
        bare.step(batch)

    def step(batch: torch.Tensor) -> torch.Tensor:
        if batch is setup.feed[1]:
            dbg.interrupt()
        return setup.step(batch)

    named = pytest.warns(
        FtlabWarning, match=rf"{kind.__name__}.step\(\) was given a cl"
    )
    with named as heard, ftlab.debug(step, setup.feed, model=setup.model) as dbg:
        report = dbg.run()
        assert (report.reason, report.replayable) == ("interrupt", False)
        with pytest.raises(NotReplayableError, match="has already changed the weights"):
            dbg.back()
        assert dbg.step().op == "aten.mul.Tensor"  # of the next step
        assert not dbg.step().replayable
        assert dbg.resume().state == "finished"
    assert len(heard) == 1
    assert dbg.where.step == len(setup.feed)
    assert torch.equal(setup.model.weight, bare.model.weight)


@pytest.mark.parametrize(("kind", "options"), CLOSING)
def test_what_a_closure_breaks_is_seen_in_the_same_step(kind, options):
    setup = Closing(kind, options, 2)
    debugger = ftlab.debug(setup.step, setup.feed, model=setup.model)
    with pytest.warns(FtlabWarning), debugger as dbg:  # noqa: PT031
        report = dbg.run()
        assert (report.reason, report.step, report.what) == ("anomaly", 2, "nan")
        assert not report.replayable
        assert "before the weights change" not in report.headline()


def test_a_watch_hears_of_a_step_with_a_closure_behind_a_stop(tmp_path):
    setup = Closing(torch.optim.SGD, {}, None)

    def step(batch: torch.Tensor) -> torch.Tensor:
        if batch is setup.feed[0]:
            dbg.interrupt()
        return setup.step(batch)

    watch = ftlab.watch(setup.model, setup.optimizer, run_dir=tmp_path / "run")
    debugger = ftlab.debug(step, setup.feed, model=setup.model)
    with watch, pytest.warns(FtlabWarning), debugger as dbg:  # noqa: PT031
        dbg.run()
        assert dbg.step().site is not None
        dbg.resume()
    assert len(watch.run.steps) == len(setup.feed)


def test_a_closure_is_known_in_every_spelling():
    assert has_closure(("optimizer", print), {})
    assert has_closure(("optimizer",), {"closure": print})
    assert not has_closure(("optimizer", None), {})
    assert not has_closure(("optimizer",), {"closure": None})


def test_a_starved_optimizer_changes_nothing():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.0)
    model(torch.ones(1, 2)).sum().backward()
    before = model.weight.detach().clone()
    starve(optimizer)
    optimizer.step()
    assert torch.equal(model.weight, before)


def test_what_a_scaler_lent_is_taken_away():
    optimizer: Any = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    optimizer.grad_scale = optimizer.found_inf = torch.ones(1)
    drop_leftovers(optimizer)
    drop_leftovers(optimizer)
    assert not hasattr(optimizer, "grad_scale")


def test_what_another_optimizer_has_changed_is_not_changed_again():
    model, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (other, model)]
    before = other.bias.detach().clone()

    def step(batch: torch.Tensor) -> None:
        for each, loss in zip(
            optimizers, (other(batch).sum(), model(batch).sum() * NAN), strict=True
        ):
            each.zero_grad()
            loss.backward()
            each.step()

    with ftlab.debug(step, [torch.ones(1, 2)], model=model) as dbg:
        report = dbg.run()
        assert (report.reason, report.replayable) == ("anomaly", False)
        assert "SGD.step() has already changed the weights" in report.notes[-1]
    assert torch.allclose(other.bias, before - 0.1)
