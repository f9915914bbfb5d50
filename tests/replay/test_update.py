"""An optimizer's step that goes wrong stops there, and leaves nothing behind."""

import copy
from typing import Any

import pytest
import torch

import ftlab

HUGE = torch.tensor([[1e25, 1.0]])
FINE = torch.tensor([[1.0, 2.0]])


class Loop:
    """Trains one weight, on a batch whose gradient squared is beyond float32."""

    def __init__(self, **options: Any) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Linear(2, 1, bias=False)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1, **options)

    def step(self, batch: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = self.model(batch).sum()
        loss.backward()
        self.optimizer.step()
        return loss

    def debug(self, *batches: torch.Tensor, **options: Any) -> Any:
        return ftlab.debug(
            self.step, batches, model=self.model, optimizer=self.optimizer, **options
        )

    def state(self) -> Any:
        return copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))


def assert_equal(first: Any, second: Any) -> None:
    torch.testing.assert_close(first, second, rtol=0, atol=0)


@pytest.mark.parametrize("options", [{}, {"foreach": True}], ids=["for", "foreach"])
def test_a_moment_that_overflows_is_found_before_the_loss_shows_it(options):
    loop = Loop(**options)
    with loop.debug(FINE, HUGE, FINE) as dbg:
        report = dbg.run()
    assert (report.step, report.phase, report.kind) == (1, "optimizer", "state")
    assert "addcmul" in report.op
    assert report.name == "weight"
    assert "torch/optim/adam" in report.library_line
    assert report.user_line.endswith(" step")
    assert "float32 ends at 3.4e+38" in report.cause


@pytest.mark.parametrize("foreach", [False, True])
def test_of_many_parameters_the_broken_one_is_named_and_shown(foreach):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    model.requires_grad_(requires_grad=False)
    model[0].bias.requires_grad_()
    model[1].weight.requires_grad_()
    trained = [model[0].bias, model[1].weight]
    optimizer = torch.optim.AdamW(trained, foreach=foreach)

    def step(batch):
        (model[1](batch).sum() + model[0].bias.sum()).backward()
        optimizer.step()

    dbg = ftlab.debug(step, [HUGE], model=model, optimizer=optimizer)
    with dbg:
        report = dbg.run()
    assert (report.kind, report.name) == ("state", "1.weight")
    (output,) = report.outputs
    assert (output.shape, output.infs) == ((2, 2), 2)


def test_resuming_gives_the_weights_of_a_run_without_a_debugger():
    plain, loop = Loop(), Loop()
    for batch in (FINE, HUGE, FINE):
        plain.step(batch)
    with loop.debug(FINE, HUGE, FINE) as dbg:
        dbg.run()
        while dbg.state == "paused":
            dbg.resume()
        assert dbg.state == "finished"
    assert_equal(loop.state(), plain.state())


def test_a_state_that_stays_broken_stops_the_run_once():
    loop, stops = Loop(), []
    with loop.debug(HUGE, FINE, FINE, on_pause=stops.append) as dbg:
        dbg.run()
    assert [stop.step for stop in stops] == [0]


def test_aborting_puts_weights_and_state_back():
    plain, loop = Loop(), Loop()
    plain.step(FINE)
    with loop.debug(FINE, HUGE) as dbg:
        dbg.run()
        dbg.abort()
    loop.optimizer.zero_grad()
    plain.optimizer.zero_grad()
    assert_equal(loop.state(), plain.state())


def test_it_steps_forward_and_back_within_the_update():
    plain, loop = Loop(), Loop()
    plain.step(HUGE)
    with loop.debug(HUGE) as dbg:
        found = dbg.run().site.index
        assert dbg.back(count=2).site.index == found - 2
        assert dbg.step().site.index == found - 1
        assert dbg.step(count=100).state == "finished"
    assert_equal(loop.state(), plain.state())


def test_what_is_too_large_to_copy_is_found_but_not_executed_again():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e30)

    def step(batch):
        model(batch).sum().backward()
        optimizer.step()

    dbg = ftlab.debug(step, [HUGE], model=model, optimizer=optimizer, memory_budget=4)
    with dbg:
        report = dbg.run()
        assert (report.kind, report.name, report.replayable) == (
            "optimizer",
            "weight",
            False,
        )
        assert "debug(..., memory_budget=24)" in repr(report)
        assert dbg.resume().state == "finished"


def test_hooks_of_others_hear_of_one_update():
    loop, heard = Loop(), []
    loop.optimizer.register_step_pre_hook(lambda *_: heard.append("before"))
    loop.optimizer.register_step_post_hook(lambda *_: heard.append("after"))
    with loop.debug(HUGE) as dbg:
        dbg.run()
        dbg.resume()
    assert heard == ["before", "after"]


def test_a_watch_sees_the_update_that_stays(tmp_path):
    loop = Loop()
    watching = ftlab.watch(loop.model, loop.optimizer, run_dir=tmp_path / "run")
    with watching as watch, loop.debug(FINE, HUGE, FINE) as dbg:
        dbg.run()
        dbg.resume()
    assert len(watch.run.steps) == 3


def test_broken_weights_from_before_are_no_news():
    loop = Loop()
    frozen = torch.nn.Parameter(torch.tensor([torch.nan]))
    loop.optimizer.add_param_group({"params": [frozen]})
    with loop.debug(FINE, FINE) as dbg:
        assert dbg.run().state == "finished"


def test_an_update_that_does_not_repeat_says_so():
    weight = torch.nn.Parameter(torch.ones(1))
    model = torch.nn.Linear(1, 1, bias=False)
    model.weight = weight

    class Once(torch.optim.SGD):
        calls = 0

        def step(self, closure=None):
            self.calls += 1
            with torch.no_grad():
                weight.copy_(weight * (torch.nan if self.calls == 1 else 1.0))

    optimizer = Once([weight], lr=0.1)

    def step(batch):
        model(batch).sum().backward()
        optimizer.step()

    batches = [torch.ones(1, 1)]
    with ftlab.debug(step, batches, model=model, optimizer=optimizer) as dbg:
        report = dbg.run()
        assert (report.kind, report.replayable) == ("optimizer", False)
        assert "no operation that torch shows made it" in repr(report)
        assert dbg.resume().state == "finished"
