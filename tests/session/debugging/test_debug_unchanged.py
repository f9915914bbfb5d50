"""Pausing, looking, going back and resuming changes no bit of a run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import trainable
from ftlab.replay.capsules.gradients import KeptGradients
from ftlab.replay.capsules.rng import RngState
from tests.models import tiny_lora
from tests.session.scenarios import (
    LOOPS,
    TRAINERS,
    Loop,
    feed,
    interrupts_at,
    seed,
    state_of,
    trainer,
)


def look(dbg: Any, model: torch.nn.Module) -> None:
    """Do what a curious user does at a stop, random numbers included."""
    torch.rand(7)
    np.random.rand(3)
    batch = dict(dbg.batch)
    assert model(**batch).loss.requires_grad
    assert dbg.tensor is None or dbg.tensor.numel() > 0
    repr(dbg.where)


def wander(dbg: Any, model: torch.nn.Module) -> Any:
    """Go back and forth within a paused step, then let it go on."""
    assert dbg.where.state == "paused"
    look(dbg, model)
    dbg.back(count=40)
    look(dbg, model)
    dbg.step("module")
    dbg.back("module", 3)
    look(dbg, model)
    dbg.step(count=5)
    return dbg.resume()


def accumulation_by_index() -> Loop:
    """Accumulate over three micro-batches; the step keeps no count of its own."""
    model = tiny_lora(lora_dropout=0.1).train()
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)

    def step(item: Any) -> torch.Tensor:
        index, batch = item["index"], {k: v for k, v in item.items() if k != "index"}
        loss = model(**batch).loss / 3
        loss.backward()
        if index % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return Loop(model, optimizer, step)


def fused_without_overflow() -> Loop:
    """A scaler hands its scale to a fused optimizer, which then really steps."""
    model = tiny_lora().train()
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(**batch).loss
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return Loop(model, optimizer, step, scaler)


# The step of "accumulation" counts its own calls, which a replay cannot undo, and
# "parametrized" has buffers that every call of the model moves, those of `look` too.
OTHERS = ("accumulation", "parametrized")
REPEATABLE = {name: make for name, make in LOOPS.items() if name not in OTHERS}
REPEATABLE["fused_without_overflow"] = fused_without_overflow


def bare(make: Callable[[], Loop], batches: list[Any]) -> dict[str, Any]:
    seed()
    loop = make()
    seed()
    losses = [loop.step(batch).item() for batch in batches]
    return state_of(loop.model, loop.optimizer, losses)


def paused(make: Callable[[], Loop], batches: list[Any], at: int = 3) -> dict[str, Any]:
    seed()
    loop = make()
    seed()
    calls: list[Any] = []

    def step(batch: dict[str, Any]) -> torch.Tensor:
        calls.append(batch)
        if len(calls) == at + 1:
            dbg.interrupt()
        return loop.step(batch)

    with ftlab.debug(step, batches, model=loop.model, optimizer=loop.optimizer) as dbg:
        assert dbg.run().reason == "interrupt"
        assert wander(dbg, loop.model).state == "finished"
        losses = [loss.item() for loss in dbg.result]
    assert len(calls) > len(batches), "nothing was replayed"
    return state_of(loop.model, loop.optimizer, losses)


@pytest.mark.parametrize("name", REPEATABLE)
def test_a_loop_is_bit_equal_through_a_pause(name: str) -> None:
    make = REPEATABLE[name]
    assert paused(make, feed()) == bare(make, feed())


def indexed() -> list[Any]:
    return [{**batch, "index": i} for i, batch in enumerate(feed())]


def paused_while_accumulating(at: int) -> dict[str, Any]:
    seed()
    loop = accumulation_by_index()
    seed()
    met = []

    def step(item: Any) -> torch.Tensor:
        if item["index"] == at and not met:
            met.append(item)
            dbg.interrupt()
        return loop.step(item)

    with ftlab.debug(step, indexed(), model=loop.model) as dbg:
        dbg.run()
        dbg.back(count=30)
        dbg.back("module", 2)
        dbg.resume()
        losses = [loss.item() for loss in dbg.result]
    return state_of(loop.model, loop.optimizer, losses)


def test_accumulated_gradients_are_restored() -> None:
    # Index 4 is the second micro-batch of the second step.
    assert paused_while_accumulating(4) == bare(accumulation_by_index, indexed())


def test_without_the_accumulated_gradients_a_replay_is_seen_to_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(KeptGradients, "restore", lambda _: None)
    disturbed = paused_while_accumulating(4)
    assert disturbed["weights"] != bare(accumulation_by_index, indexed())["weights"]


def test_without_its_random_state_a_replay_is_seen_to_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = REPEATABLE["dropout"]
    monkeypatch.setattr(RngState, "restore", lambda _: None)
    assert paused(make, feed())["losses"] != bare(make, feed())["losses"]


def run_trainer(drive: Callable[[Any], None], **settings: Any) -> dict[str, Any]:
    seed()
    built = trainer(**settings)
    seed()
    drive(built)
    losses = [row["loss"] for row in built.state.log_history if "loss" in row]
    return state_of(built.model, built.optimizer, losses)


@pytest.mark.parametrize("name", TRAINERS)
def test_a_trainer_is_bit_equal_through_a_pause(name: str) -> None:
    def drive(built: Any) -> None:
        with ftlab.debug(built) as dbg:
            built.add_callback(interrupts_at(1, dbg))
            assert dbg.run().step == 1
            assert wander_trainer(dbg, built.model).state == "finished"

    plain = run_trainer(lambda built: built.train(), **TRAINERS[name])
    assert run_trainer(drive, **TRAINERS[name]) == plain


def wander_trainer(dbg: Any, model: torch.nn.Module) -> Any:
    torch.rand(7)
    dbg.back(count=40)
    look_at_tensors(dbg)
    dbg.back("module", 3)
    dbg.step(count=5)
    return dbg.resume()


def look_at_tensors(dbg: Any) -> None:
    torch.rand(3)
    assert dbg.tensor is not None
    dbg.tensor.zero_()
    for tensor in dbg.inputs:
        tensor.zero_()
