"""Trying a change within an optimizer's step: is it gone, and nothing real changed."""

from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, NotReplayableError
from tests.replay.test_update import FINE, HUGE, Loop, assert_equal


class Steep(Loop):
    """Trains with a rate at which a large gradient moves the weights out of float32."""

    def __init__(self) -> None:
        super().__init__()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e30)


def finite(loop: Loop) -> bool:
    states = loop.optimizer.state.values()
    moments = [v for s in states for v in s.values() if isinstance(v, torch.Tensor)]
    return all(bool(t.isfinite().all()) for t in [loop.model.weight, *moments])


@pytest.mark.parametrize(
    "options",
    [{"foreach": False}, {"foreach": True}, {"fused": True}],
    ids=["for", "foreach", "fused"],
)
def test_a_patch_that_mends_is_gone_and_one_that_does_not_is_still_there(options):
    loop = Loop(**options)
    with loop.debug(FINE, HUGE, FINE) as dbg:
        before = dbg.run()
        mended = dbg.patch(lambda x: x.nan_to_num(posinf=1e30))
        assert mended.trial.startswith(
            f"patch of {before.op} {before.site.index}: gone: weights and state are "
        )
        assert (mended.site, mended.what) == (before.site, before.what)
        useless = dbg.patch(lambda x: x * 2)
        assert f"still non-finite, from {before.op}" in useless.trial


def test_what_was_tried_changes_nothing():
    plain, loop = Loop(), Loop()
    for batch in (FINE, HUGE, FINE):
        plain.step(batch)
    with loop.debug(FINE, HUGE, FINE) as dbg:
        found = dbg.run()
        dbg.patch(torch.zeros_like)
        dbg.in_float32()
        dbg.with_lr("/10")
        dbg.replace(found.op, lambda x, *_, **__: x * 0)
        dbg.resume()
        assert dbg.state == "finished"
    assert_equal(loop.state(), plain.state())


def test_resuming_with_a_patch_takes_it():
    loop = Loop()
    with loop.debug(FINE, HUGE, FINE) as dbg:
        dbg.run()
        dbg.patch(lambda x: x.nan_to_num(posinf=1e30))
        assert dbg.resume(with_patch=True).state == "finished"
    assert finite(loop)


def test_a_taken_patch_that_does_not_mend_is_judged_anew():
    loop = Loop()
    with loop.debug(HUGE) as dbg:
        found = dbg.run()
        dbg.patch(lambda x: x * 2)
        again = dbg.resume(with_patch=True)
        assert (again.state, again.reason, again.trial) == ("paused", "anomaly", "")
        assert (again.step, again.op) == (found.step, found.op)


def test_a_state_that_was_mended_stops_the_run_again():
    loop = Loop()
    with loop.debug(HUGE, FINE, HUGE) as dbg:
        assert dbg.run().step == 0
        dbg.patch(torch.zeros_like)
        assert dbg.resume(with_patch=True).step == 2


def test_a_lower_rate_is_tried_and_taken_for_this_step_alone():
    loop = Steep()
    before = loop.model.weight.detach().clone()
    with loop.debug(HUGE, FINE) as dbg:
        report = dbg.run()
        assert (report.kind, report.phase) == ("optimizer", "optimizer")
        assert "lr /10: still non-finite" in dbg.with_lr("/10").trial
        assert "change of a weight is 1e+16" in dbg.with_lr(1e-9).trial
        assert loop.optimizer.param_groups[0]["lr"] == 1e30
        dbg.resume(with_patch=True)
        assert dbg.state == "finished"
    assert loop.optimizer.param_groups[0]["lr"] == 1e30
    moved = (before - loop.model.weight.detach()).abs()
    assert bool(moved.isfinite().all())
    assert finite(loop)


def test_a_scheduler_goes_on_from_the_rate_that_was_there():
    loop = Steep()
    schedule = torch.optim.lr_scheduler.ExponentialLR(loop.optimizer, 0.5)

    def step(batch):
        loop.step(batch)
        schedule.step()

    dbg = ftlab.debug(step, [HUGE], model=loop.model, optimizer=loop.optimizer)
    with dbg:
        dbg.run()
        dbg.with_lr(1e-9)
        assert dbg.resume(with_patch=True).state == "finished"
    assert schedule.get_last_lr() == [5e29]


def test_what_replaces_an_operation_in_place_is_written():
    loop, kept = Loop(foreach=False), []

    def smaller(weight: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        return torch.full_like(weight, 3.0)

    with loop.debug(HUGE) as dbg:
        dbg.run()
        assert "1 x aten.addcmul_ replaced: gone" in (
            dbg.replace("aten.addcmul_", smaller).trial
        )
        dbg.resume(with_patch=True)
        kept += [s["exp_avg_sq"] for s in loop.optimizer.state.values()]
    assert kept[0].tolist() == [[3.0, 3.0]]


def test_a_rate_plays_no_role_before_the_optimizers_step():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)

    def step(batch):
        (model(batch) * 0).log().sum().backward()

    with ftlab.debug(step, [FINE], model=model) as dbg:
        dbg.run()
        with pytest.raises(NotReplayableError, match="before the optimizer step"):
            dbg.with_lr("/10")
        assert dbg.state == "paused"


def test_the_batch_and_the_scale_play_no_role_in_the_optimizers_step():
    loop = Loop()
    with loop.debug(HUGE) as dbg:
        dbg.run()
        with pytest.raises(NotReplayableError, match="forward and backward are over"):
            dbg.skip_sample(0)
        with pytest.raises(NotReplayableError, match="forward and backward are over"):
            dbg.with_loss_scale(2.0)
        with pytest.raises(BadValueError, match="nothing was tried"):
            dbg.resume(with_patch=True)


def test_a_patch_that_fails_is_told_and_the_weights_are_those_of_before():
    plain, loop = Loop(), Loop()
    plain.step(HUGE)
    with loop.debug(HUGE) as dbg:
        dbg.run()
        assert "failed with KeyError" in dbg.patch(lambda _: {}["gone"]).trial
        assert "writes [1, 2]" in dbg.patch(lambda _: torch.ones(1)).trial or (
            "same shape" in dbg.where.trial
        )
        dbg.resume()
    assert_equal(loop.state(), plain.state())


def test_an_abort_after_a_trial_puts_everything_back():
    plain, loop = Loop(), Loop()
    plain.step(FINE)
    with loop.debug(FINE, HUGE) as dbg:
        dbg.run()
        dbg.patch(torch.zeros_like)
        dbg.abort()
    loop.optimizer.zero_grad()
    plain.optimizer.zero_grad()
    assert_equal(loop.state(), plain.state())
