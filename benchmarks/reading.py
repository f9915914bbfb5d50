"""How long the first look at a large run takes, and how much memory.

The run is made by the log's own writer: two statistics of each tensor at every step,
old raw rows thinned to a gigabyte. Each look is taken in a process of its own.

    python -m benchmarks.reading --tensors 10000 --steps 100000
"""

import argparse
import importlib
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import ftlab
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord
from ftlab.runlog.segment import Limits
from ftlab.runlog.writer import LogWriter

PER_LAYER = 20
COMMIT = 20
KEPT = 2**30


def write(path: Path, tensors: int, steps: int) -> None:
    """Log a run of gradients that wander around a value of each tensor's own."""
    writer = LogWriter.create(path, config={}, limits=Limits(disk_budget=KEPT))
    for number in range(tensors):
        layer = f"model.layers.{number // PER_LAYER}"
        name = f"{layer}.part{number % PER_LAYER}.weight"
        writer.write(NameRecord(number, "tensors", name, "param", layer))
    random = np.random.default_rng(0)
    ids, size = np.arange(tensors, dtype=np.int32), random.lognormal(-3, 1, tensors)
    for step in range(steps):
        norm = (size * random.random(tensors)).astype(np.float32)
        values = {"grad_l2": norm, "grad_max": norm / 8}
        writer.write(Block("tensors", step, ids, values))
        writer.write(StepRecord(step, time=float(step), loss=2.0, lr=(1e-4,)))
        if step % COMMIT == 0:
            writer.commit()
    writer.close("finished")


def look(path: Path) -> None:
    """Open the run, and show its gradients in each form."""
    for loaded in ("anywidget", "matplotlib.figure", "pandas"):  # by any notebook
        importlib.import_module(loaded)
    began, before = time.perf_counter(), _memory()
    run = ftlab.open_run(path)
    for name, form in (
        ("open_run", lambda: None),
        ("table", lambda: run.gradients.table()),
        ("figure", lambda: run.gradients.figure()),
        ("widget", lambda: run.gradients.widget()),
    ):
        form()
        taken = time.perf_counter() - began
        print(f"{name:>10}  after {taken:5.2f} s, {_memory():6.0f} MB")
    print(f"beyond what the imports took: {_memory() - before:.0f} MB")


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensors", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--look", type=Path, help="a run that is there already")
    options = parser.parse_args()
    if options.look is not None:
        look(options.look)
    else:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / "run", options.tensors, options.steps)
            print(f"{options.tensors} tensors x {options.steps} steps")
            again = [sys.executable, "-m", "benchmarks.reading", "--look"]
            subprocess.run([*again, f"{folder}/run"], check=True)
