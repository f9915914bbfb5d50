"""What the thread waited for a processor is told step by step."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ftlab
from ftlab.probes.machine.throughput import QUEUE, Throughput
from tests.models import batches
from tests.session.checkpoints import loop


def test_is_the_difference_between_two_steps(tmp_path: Path) -> None:
    class Moment:
        step = 0

    file = tmp_path / "schedstat"
    probe = Throughput(queue=file)
    told = []
    for waited in (None, None, 5_000_000, 7_000_000, 6_000_000):
        if waited is not None:
            file.write_text(f"100 {waited} 3\n")
        told.append(probe.on_close(Moment()).get("cpu_wait"))
    assert told == [None, None, None, pytest.approx(0.002), 0.0]


@pytest.mark.skipif(not QUEUE.exists(), reason="needs Linux's schedstat")
def test_tells_of_others_on_the_same_processor(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    allowed = os.sched_getaffinity(0)
    busy = [sys.executable, "-c", "while True: pass"]
    os.sched_setaffinity(0, {min(allowed)})
    others = [subprocess.Popen(busy) for _ in range(2)]
    try:
        with ftlab.watch(made.model, made.optimizer, run_dir=tmp_path / "run") as watch:
            for batch in batches(12):
                made.step(batch)
    finally:
        for each in others:
            each.kill()
            each.wait()
        os.sched_setaffinity(0, allowed)
    steps = watch.run.steps
    waited, seconds = steps["cpu_wait"][2:].sum(), steps["seconds"][2:].sum()
    assert 0.3 * seconds < waited < seconds
