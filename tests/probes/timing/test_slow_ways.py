"""Ways to be slow, in a loop and in a Trainer: each is named with its cause."""

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

import ftlab
from ftlab.faults.builders.tiny import adamw, lora
from ftlab.records.step_time import PHASES, column_of
from ftlab.session.watch import Watch

STEPS, ROWS, WIDTH = 24, 96, 24
TIMED = ("TIM001", "TIM002", "TIM003")


class Rows(Dataset[dict[str, torch.Tensor]]):
    """Rows that take a while."""

    def __init__(self, seconds: float) -> None:
        generator = torch.Generator().manual_seed(0)
        self._rows = torch.randint(0, 64, (ROWS, WIDTH), generator=generator)
        self._seconds = seconds

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        if self._seconds:
            time.sleep(self._seconds)
        return {"input_ids": self._rows[index], "labels": self._rows[index]}


def slow_collator(rows: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Take a while to join rows."""
    time.sleep(0.05)
    return {key: torch.stack([row[key] for row in rows]) for key in rows[0]}


def slow_metric(logits: torch.Tensor) -> int:
    """Count in Python what torch would count at once, in short calls."""
    hits = 0
    for row in 60 * logits.flatten(0, -2).tolist():
        hits += sum(map((0.0).__lt__, row))
    return hits


def _loop(folder: Path, way: str) -> Watch:
    model = lora()
    optimizer = adamw(model)
    loader = DataLoader(
        Rows({"slow rows": 0.02, "too few workers": 0.04}.get(way, 0.0)),
        batch_size=4,
        collate_fn=slow_collator if way == "slow collator" else None,
        num_workers=1 if way == "too few workers" else 0,
    )
    kept = [[] for _ in range(2_000_000 * (way == "collecting garbage"))]
    anomaly = torch.autograd.set_detect_anomaly(way == "anomaly detection")
    with anomaly, ftlab.watch(model, optimizer, run_dir=folder / "run") as watch:
        for batch in loader:
            optimizer.zero_grad()
            output = model(**batch)
            output.loss.backward()
            optimizer.step()
            if way == "slow metric":
                slow_metric(output.logits)
            if way == "collecting garbage":
                gc.collect()  # of all that is kept
            if way == "saving":
                torch.save(torch.zeros(20_000_000), folder / "state.pt")
            if way == "evaluating":
                _evaluate(model, batch)
    kept.clear()
    return watch


def _evaluate(model: torch.nn.Module, batch: Any) -> None:
    with torch.no_grad():
        for _ in range(10):
            model(**batch)


class Slow(TrainerCallback):  # type: ignore[misc]
    """A callback that takes a while."""

    def __init__(self, way: str) -> None:
        self._way = way

    def on_step_end(self, *_: Any, **__: Any) -> None:
        if self._way == "slow callback":
            time.sleep(0.05)

    def on_log(self, *_: Any, **__: Any) -> None:
        if self._way == "slow log":
            time.sleep(0.05)


def _trainer(folder: Path, way: str) -> Watch:
    often = {"saving": "save_steps", "evaluating": "eval_steps"}.get(way)
    args = TrainingArguments(
        str(folder / "out"),
        per_device_train_batch_size=4,
        max_steps=STEPS,
        logging_steps=1 if way == "slow log" else 12,
        save_strategy="steps" if way == "saving" else "no",
        save_total_limit=1 if way == "saving" else None,
        eval_strategy="steps" if way == "evaluating" else "no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        **({often: 1} if often else {}),
    )
    trainer = Trainer(
        lora(),
        args,
        train_dataset=Rows(0.02 if way == "slow rows" else 0.0),
        eval_dataset=Rows(0.0),
        callbacks=[Slow(way)],
    )
    watch = ftlab.watch(trainer, run_dir=folder / "run")
    trainer.train()
    watch.detach()
    return watch


@pytest.fixture(autouse=True)
def _anomaly_off() -> Iterator[None]:
    yield
    torch.autograd.set_detect_anomaly(False)


def slow(*way: str) -> Any:
    """Leave a way to the slow ring: its likes are in the first one."""
    return pytest.param(*way, marks=pytest.mark.slow)


LOOPS = (
    ("slow rows", "TIM001", "__getitem__"),
    slow("slow collator", "TIM001", "slow_collator"),
    ("too few workers", "TIM001", "worker process"),
    # all in Python: on a crowded machine too few looks see its line
    slow("slow metric", "TIM002", "slow_metric"),
    slow("collecting garbage", "TIM002", "gc.collect()"),
    slow("saving", "TIM002", "torch.save("),
    slow("evaluating", "TIM002", "model(**batch)"),
    slow("anomaly detection", "TIM003", "set_detect_anomaly"),
)
TRAINERS = (
    slow("slow rows", "TIM001", "__getitem__"),
    ("slow callback", "TIM002", "on_step_end"),
    slow("slow log", "TIM002", "on_log"),
    slow("saving", "TIM002", "saving"),
    ("evaluating", "TIM002", "evaluation"),
)


@pytest.mark.parametrize(("way", "code", "cause"), LOOPS, ids=lambda e: str(e))
def test_a_slow_loop_is_named_with_its_cause(
    tmp_path: Path, way: str, code: str, cause: str
) -> None:
    _assert_named(_loop(tmp_path, way), code, cause)


@pytest.mark.parametrize(("way", "code", "cause"), TRAINERS, ids=lambda e: str(e))
def test_a_slow_trainer_is_named_with_its_cause(
    tmp_path: Path, way: str, code: str, cause: str
) -> None:
    _assert_named(_trainer(tmp_path, way), code, cause)


def _assert_named(watch: Watch, code: str, cause: str) -> None:
    found = [each for each in watch.findings if each.code == code]
    told = [f"{each.message}. {each.cause}" for each in found]
    assert any(cause in each for each in told), watch.findings


@pytest.mark.parametrize("train", [_loop, _trainer])
def test_the_phases_of_a_healthy_run_add_up_and_nothing_is_told(
    tmp_path: Path, train: Any
) -> None:
    watch = train(tmp_path, "")
    steps = watch.run.steps
    whole = sum(np.nansum(steps[column_of(phase)][1:]) for phase in PHASES)
    assert whole == pytest.approx(np.nansum(steps["seconds"][1:]), rel=0.02)
    assert not [each for each in watch.findings if each.code in TIMED]
    assert len(watch.time.table()) == len(steps)
    assert "seconds by phase" in repr(watch.time)
    assert watch.time.figure().axes
