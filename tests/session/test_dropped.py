"""What a loop drops while it is watched: the watch keeps none of it alive."""

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig

import ftlab
from tests.models import batches, tiny_lora
from tests.session import scenarios


def adamw(model: torch.nn.Module) -> torch.optim.AdamW:
    trainable = [each for each in model.parameters() if each.requires_grad]
    return torch.optim.AdamW(trainable, lr=1e-2)


def train(model: Any, optimizer: Any, scheduler: Any, scaler: Any, steps: int) -> None:
    for batch in batches(steps):
        scaler.scale(model(**batch).loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        optimizer.zero_grad()


def epoch(model: Any, steps: int = 2, **handed: Any) -> list[weakref.ref[Any]]:
    """Train with an optimizer, a scheduler and a scaler that nobody keeps."""
    optimizer = handed.get("optimizer") or adamw(model)
    scheduler = handed.get("scheduler") or torch.optim.lr_scheduler.StepLR(optimizer, 1)
    scaler = handed.get("scaler") or torch.amp.GradScaler("cpu", init_scale=2.0)
    train(model, optimizer, scheduler, scaler, steps)
    moments = optimizer.state[optimizer.param_groups[0]["params"][0]]["exp_avg"]
    return [weakref.ref(each) for each in (optimizer, scheduler, scaler, moments)]


def left(references: list[weakref.ref[Any]]) -> list[Any]:
    gc.collect()
    return [each for reference in references if (each := reference()) is not None]


def test_what_was_adopted_goes_when_the_loop_drops_it(tmp_path: Path) -> None:
    model = tiny_lora()
    with ftlab.watch(model, run_dir=tmp_path / "run") as watch:
        dropped = [each for _ in range(3) for each in epoch(model)]
        epoch(model)
        assert left(dropped) == []
    assert [each["class"] for each in watch.run.facts.optimizers] == ["AdamW"] * 4


def test_what_was_handed_over_goes_too(tmp_path: Path) -> None:
    model = tiny_lora()
    optimizer = adamw(model)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    given = {
        "optimizer": optimizer,
        "scheduler": scheduler,
        "scaler": torch.amp.GradScaler("cpu", init_scale=2.0),
    }
    with ftlab.watch(model, **given, run_dir=tmp_path / "run") as watch:
        dropped = epoch(model, **given)
        given.clear()
        del optimizer, scheduler
        epoch(model)
        assert left(dropped) == []
    assert watch.run.facts.training["scaler_class"] == "GradScaler"


def trained(model: Any, *, watched: Path | None = None) -> list[weakref.ref[Any]]:
    """Train with a Trainer that nobody keeps, nor the watch of it."""
    built = scenarios.trainer(model, max_steps=2)
    watch = None if watched is None else ftlab.watch(built, run_dir=watched)
    built.train()
    assert watch is None or len(watch.run.steps) == 2
    return [weakref.ref(built.optimizer), weakref.ref(built.lr_scheduler)]


def test_a_first_trainer_s_optimizer_goes_while_a_second_one_trains(
    tmp_path: Path,
) -> None:
    model = tiny_lora()
    with ftlab.watch(model, run_dir=tmp_path / "run") as watch:
        dropped = trained(model)
        trained(model)
        assert left(dropped) == []
    assert len(watch.run.facts.optimizers) == 2


def test_a_trainer_that_is_made_anew_with_its_watch_leaves_nothing(
    tmp_path: Path,
) -> None:
    model = tiny_lora()
    dropped = trained(model, watched=tmp_path / "first")
    trained(model, watched=tmp_path / "second")
    assert left(dropped) == []


@pytest.mark.parametrize("detached", [True, False])
def test_of_a_dropped_model_nothing_is_left_though_the_watch_is(
    detached: bool, tmp_path: Path
) -> None:
    model = tiny_lora()
    watch = ftlab.watch(model, run_dir=tmp_path / "run")
    epoch(model)
    if detached:
        watch.detach()
    parameters = [weakref.ref(each) for each in model.parameters()]
    del model
    assert left(parameters) == []
    assert len(watch.run.steps) == 2


def test_of_a_deleted_adapter_nothing_is_left_after_two_steps(tmp_path: Path) -> None:
    model = tiny_lora()
    model.add_adapter("late", LoraConfig(r=2, target_modules=["q_proj"]))
    with ftlab.watch(model, run_dir=tmp_path / "run"):
        epoch(model)
        parameters = [
            weakref.ref(each)
            for name, each in model.named_parameters()
            if ".default." in name
        ]
        model.set_adapter("late")
        model.delete_adapter("default")
        epoch(model)
        assert left(parameters) == []
