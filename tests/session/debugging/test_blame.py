"""Blaming leaves no trace in a run, and says what it cannot do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ftlab
from ftlab.records.errors import NotPausedError, NotReplayableError
from tests.replay.one_by_one import interrupted
from tests.session.scenarios import (
    LOOPS,
    TRAINERS,
    Loop,
    autocast,
    feed,
    seed,
    state_of,
    trainer,
)


def bare(make: Callable[[], Loop]) -> dict[str, Any]:
    seed()
    loop = make()
    seed()
    losses = [loop.step(batch).item() for batch in feed()]
    return state_of(loop.model, loop.optimizer, losses)


def blamed(make: Callable[[], Loop]) -> dict[str, Any]:
    """Blame at the end of a micro-batch, and at operations of both directions."""
    seed()
    loop = make()
    seed()
    with interrupted(loop, feed(), at=3) as dbg:
        dbg.run()
        before = repr(dbg.where)
        first = dbg.blame()
        assert repr(dbg.where) == before
        middle = dbg.back(count=40)
        assert middle.phase == "backward"
        assert repr(dbg.blame()) == repr(first)
        assert dbg.where.site == middle.site
        dbg.back("module", 9)
        dbg.blame()
        assert dbg.resume().state == "finished"
        losses = [loss.item() for loss in dbg.result]
    return state_of(loop.model, loop.optimizer, losses)


REPEATABLE = [name for name in LOOPS if name != "accumulation"]


@pytest.mark.parametrize("name", REPEATABLE)
def test_a_run_is_bit_equal_through_blame(name: str) -> None:
    assert blamed(LOOPS[name]) == bare(LOOPS[name])


@pytest.mark.parametrize("name", TRAINERS)
def test_a_trainer_is_bit_equal_through_blame(name: str) -> None:
    def run(drive: Callable[[Any], Any]) -> dict[str, Any]:
        seed()
        built = trainer(**TRAINERS[name])
        seed()
        drive(built)
        losses = [row["loss"] for row in built.state.log_history if "loss" in row]
        return state_of(built.model, built.optimizer, losses)

    def looking(built: Any) -> None:
        step, calls = built.training_step, []

        def training_step(*args: Any, **kwargs: Any) -> Any:
            calls.append(args)
            if len(calls) == 2:
                dbg.interrupt()
            return step(*args, **kwargs)

        built.training_step = training_step
        with ftlab.debug(built) as dbg:
            assert dbg.run().reason == "interrupt"
            assert not np.isnan(dbg.blame().gradients).any()
            assert dbg.resume().state == "finished"

    assert run(looking) == run(lambda built: built.train())


def test_a_step_without_token_losses_is_refused_by_name() -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch: torch.Tensor) -> torch.Tensor:
        loss = model(batch).square().sum()
        loss.backward()
        return loss.detach()

    batches = [torch.ones(3, 2) for _ in range(4)]
    with interrupted(Loop(model, optimizer, step), batches) as dbg:
        dbg.run()
        with pytest.raises(NotReplayableError, match="no loss over tokens"):
            dbg.blame()
        assert dbg.resume().state == "finished"


def test_a_run_that_is_not_paused_is_refused() -> None:
    loop = autocast()
    with interrupted(loop, feed()) as dbg, pytest.raises(NotPausedError, match="new"):
        dbg.blame()


def test_a_watched_run_can_be_blamed_too(tmp_path) -> None:
    loop = autocast()
    with (
        ftlab.watch(loop.model, loop.optimizer, run_dir=tmp_path / "run"),
        interrupted(loop, feed()) as dbg,
    ):
        dbg.run()
        assert "sample" in repr(dbg.blame())


def test_blaming_leaves_no_global_hook_behind() -> None:
    with interrupted(autocast(), feed()) as dbg:
        dbg.run()
        dbg.blame()
    assert not torch.nn.modules.module._has_any_global_hook()


class Hidden(torch.autograd.Function):
    """A loss whose inside nothing shows."""

    @staticmethod
    def forward(ctx, logits):
        ctx.save_for_backward(logits)
        return logits.square().mean()

    @staticmethod
    def backward(ctx, gradient):
        (logits,) = ctx.saved_tensors
        return gradient * 2 * logits / logits.numel()


def test_a_function_that_hides_the_loss_is_named() -> None:
    seed()
    loop = LOOPS["dropout"]()

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss = Hidden.apply(loop.model(input_ids=batch["input_ids"]).logits)
        loss.backward()
        return loss.detach()

    with interrupted(Loop(loop.model, loop.optimizer, step), feed()) as dbg:
        dbg.run()
        with pytest.raises(NotReplayableError, match=r"This step has Hidden\."):
            dbg.blame()
        assert dbg.resume().state == "finished"
