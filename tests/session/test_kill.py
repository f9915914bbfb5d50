"""Promise 5: what was reported as logged survives a SIGKILL, and the log opens.

The children are forked from one warm process: importing torch takes seconds, training a
tiny model milliseconds. Three cold ones run as `slow`.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import trainable
from tests.models import batches, tiny_lora

KILLS = 30
FEW = 5


def warm_up() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """Load all that a training step needs, and take one."""
    torch.set_num_threads(1)
    model = tiny_lora()
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    model(**next(batches(1))).loss.backward()
    optimizer.step()
    return model, optimizer


def train_and_report(
    folder: Path,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    report: Callable[[int], None],
) -> None:
    """Train for ever, and report each step that the watch says is logged."""
    data = list(batches(4))
    watch = ftlab.watch(model, optimizer, run_dir=folder, interval=4)
    logged = -1
    for index in range(10_000):
        optimizer.zero_grad()
        model(**data[index % 4]).loss.backward()
        optimizer.step()
        if watch.logged_step > logged:
            logged = watch.logged_step
            report(logged)


def reported(pipe: int, content: bytes) -> list[int]:
    """Read the steps that the child reported; a torn last line is none."""
    while chunk := os.read(pipe, 65536):
        content += chunk
    whole = content[: content.rfind(b"\n") + 1]
    return [int(line) for line in whole.split()]


def killed_child(
    folder: Path,
    reports: int,
    delay: float,
    warm: tuple[torch.nn.Module, torch.optim.Optimizer],
) -> list[int]:
    """Fork a training process, kill it ``delay`` seconds after so many reports."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            train_and_report(
                folder, *warm, lambda step: os.write(write, b"%d\n" % step)
            )
        finally:
            os._exit(1)
    os.close(write)
    heard = b""
    while heard.count(b"\n") < reports and (chunk := os.read(read, 64)):
        heard += chunk
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    steps = reported(read, heard)
    os.close(read)
    assert heard, "the child died before its first step was logged"
    return steps


def assert_holds(folder: Path, steps: list[int]) -> None:
    recorded = ftlab.open_run(folder).run
    found = recorded.steps.step.tolist()
    assert found == list(range(len(found)))
    assert len(found) > max(steps, default=-1)
    known = recorded.steps.known("loss")
    assert known[: max(steps, default=-1) + 1].all()


@pytest.mark.parametrize("kills", [FEW, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_kills_lose_nothing_that_was_reported(tmp_path: Path, kills: int) -> None:
    warm = warm_up()
    moments = random.Random(0)
    last = []
    for number in range(kills):
        folder = tmp_path / f"run-{number}"
        steps = killed_child(folder, 1 + number % 9, moments.uniform(0.0, 0.05), warm)
        assert_holds(folder, steps)
        last.append(max(steps, default=0))
    assert len(set(last)) > kills // 4, "the kills did not fall at different moments"


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.3, 1.1])
def test_a_cold_process_loses_nothing(tmp_path: Path, delay: float) -> None:
    folder = tmp_path / "run"
    program = (
        "import pathlib\n"
        "from tests.session.test_kill import train_and_report, warm_up\n"
        f"folder = pathlib.Path({str(folder)!r})\n"
        "train_and_report(folder, *warm_up(), lambda step: print(step, flush=True))"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(delay)
    child.kill()
    steps = [int(line) for line in child.stdout.read().split(b"\n")[:-1]]
    child.wait()
    child.stdout.close()
    assert_holds(folder, steps)
