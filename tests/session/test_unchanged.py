"""Promise 1: watching changes nothing, bit for bit."""

import contextlib
import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import ftlab
from ftlab.probes.probe import Moment, Probe, Reading
from tests.session.scenarios import (
    LOOPS,
    TRAINERS,
    Loop,
    compiled,
    feed,
    seed,
    sft_trainer,
    state_of,
    trainer,
)

Around = Callable[[Loop], contextlib.AbstractContextManager[Any]]


class DrawsOneNumber(Probe):
    """A probe that breaks the promise: it takes one random number per step."""

    name = "draws-one-number"

    def on_gradients(self, moment: Moment) -> tuple[Reading, ...]:
        torch.rand(1)
        return ()


def train(make: Callable[[], Loop], around: Around) -> dict[str, Any]:
    seed()
    loop = make()
    seed()
    with around(loop):
        losses = [loop.step(batch).item() for batch in feed()]
    return state_of(loop.model, loop.optimizer, losses)


def unwatched(loop: Loop) -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext()


def watched_by(folder: Path, probes: tuple[Probe, ...] = ()) -> Around:
    return lambda loop: ftlab.watch(
        loop.model,
        loop.optimizer,
        scaler=loop.scaler,
        run_dir=folder / "run",
        interval=2,
        activations=True,
        probes=probes,
    )


@pytest.mark.parametrize("name", LOOPS)
def test_a_watched_loop_is_bit_equal(name: str, tmp_path: Path) -> None:
    bare = train(LOOPS[name], unwatched)
    watched = train(LOOPS[name], watched_by(tmp_path))
    assert watched == bare
    assert bare == train(LOOPS[name], unwatched), "the loop itself is not reproducible"


def test_the_comparison_can_fail(tmp_path: Path) -> None:
    bare = train(LOOPS["dropout"], unwatched)
    disturbed = train(LOOPS["dropout"], watched_by(tmp_path, (DrawsOneNumber(),)))
    assert disturbed["losses"] != bare["losses"]
    assert disturbed["torch"] != bare["torch"]


@pytest.mark.parametrize(
    "backend",
    [pytest.param(each, marks=pytest.mark.slow) for each in ("aot_eager", "inductor")],
)
def test_a_watched_compiled_loop_is_bit_equal(tmp_path: Path, backend: str) -> None:
    make = functools.partial(compiled, backend)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Dynamo does not know how")  # said only once
        watched = train(make, watched_by(tmp_path))
    assert watched == train(make, unwatched)


def run_trainer(around: Callable[[Any], Any], **arguments: Any) -> dict[str, Any]:
    seed()
    built = trainer(**arguments)
    seed()
    losses = around(built)
    return state_of(built.model, built.optimizer, losses)


def plainly(built: Any) -> list[float]:
    built.train()
    return [row["loss"] for row in built.state.log_history if "loss" in row]


@pytest.mark.parametrize("name", TRAINERS)
def test_a_watched_trainer_is_bit_equal(name: str, tmp_path: Path) -> None:
    def watched(built: Any) -> list[float]:
        with ftlab.watch(built, run_dir=tmp_path / "run", interval=2) as watch:
            losses = plainly(built)
        assert len(watch.run.steps) == built.state.max_steps
        return losses

    assert run_trainer(watched, **TRAINERS[name]) == run_trainer(
        plainly, **TRAINERS[name]
    )


def test_a_watched_sft_trainer_is_bit_equal(tmp_path: Path) -> None:
    bare, built = sft_trainer(), sft_trainer()
    seed()
    losses = plainly(bare)
    seed()
    with ftlab.watch(built, run_dir=tmp_path / "run") as watch:
        assert plainly(built) == losses
    expected = state_of(bare.model, bare.optimizer, losses)
    assert state_of(built.model, built.optimizer, losses) == expected
    assert len(watch.run.steps) == 3
    assert watch.run.steps["micro_batches"].tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", LOOPS)
def test_a_debugged_loop_is_bit_equal(name: str) -> None:
    seed()
    loop = LOOPS[name]()
    seed()
    losses: list[float] = []

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss = loop.step(batch)
        losses.append(loss.item())
        return loss

    with ftlab.debug(
        step, feed(), model=loop.model, optimizer=loop.optimizer
    ) as debugger:
        debugger.run()
    assert state_of(loop.model, loop.optimizer, losses) == train(LOOPS[name], unwatched)


@pytest.mark.parametrize("name", TRAINERS)
def test_a_debugged_trainer_is_bit_equal(name: str) -> None:
    def debugged(built: Any) -> list[float]:
        with ftlab.debug(built) as debugger:
            debugger.run()
        return [row["loss"] for row in built.state.log_history if "loss" in row]

    assert run_trainer(debugged, **TRAINERS[name]) == run_trainer(
        plainly, **TRAINERS[name]
    )
