"""What watching costs on a GPU: wall time, as the step's work happens elsewhere.

The model of `benchmarks.twin` twice, on a CUDA device: one step of each in turn, on the
same batch, the device waited for after each, so that what either left in its queue
counts to it. ``watch`` is as a user has it: what the log's thread does beside the bare
step slows that one too. ``watch, drained`` waits for that thread within the watched
step, which no training does: no more than this can it be. The median of the paired
ratios is given with its distribution-free 95 % interval.

The twins of the usual shape are small, so that their steps wait for the launches of
kernels, and each launch of ours counts. How much of that a model hides which keeps the
device busy is what the second call shows: 1.1 billion parameters in bfloat16.

    python -m benchmarks.overhead_gpu --kind lora --pairs 300
    python -m benchmarks.overhead_gpu --shape 22x2048 --rows 4 --length 1024
"""

import argparse
import contextlib
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

import ftlab
from benchmarks.twin import Twin, batch

BUSY = "22x2048"
"""The shape that keeps the device busy."""


@contextlib.contextmanager
def watched(twin: Twin, *, drained: bool) -> Iterator[None]:
    """`ftlab.watch`; where its thread is waited for, within the step."""
    folder = Path(tempfile.mkdtemp()) / "run"
    with ftlab.watch(twin.model, twin.optimizer, run_dir=folder) as watch:
        if drained:
            twin.after = watch._observation.background.drain
        yield


def seconds(work: Callable[[], Any]) -> float:
    """Return the wall time until the device has done what it was asked to do."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - began


def compare(
    asked: argparse.Namespace,
    *,
    watch: bool,
    drained: bool = False,
    warm_up: int = 20,
) -> dict[str, float]:
    """Train a bare twin and another one in turn; return the ratio of their times."""
    with torch.device("cuda"):  # a billion weights take a CPU a minute to draw
        plain, other = (Twin(asked.kind, asked.shape) for _ in range(2))
    for twin in (plain, other):
        twin.model.to("cuda", torch.bfloat16 if asked.shape == BUSY else None)
    pairs = []
    attached = watched(other, drained=drained) if watch else contextlib.nullcontext()
    with attached:
        for index in range(asked.pairs + warm_up):
            data = batch(index, "cuda", rows=asked.rows, length=asked.length)
            bare = seconds(partial(plain.step, data))
            pairs.append((bare, seconds(partial(other.step, data))))
    return summary(pairs[warm_up:])


def summary(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Return the median of the ratios, and its 95 % interval."""
    ratios, count = sorted(other / bare for bare, other in pairs), len(pairs)
    reach = 0.98 * math.sqrt(count)  # 1.96 standard deviations of Binomial(n, 1/2)
    return {
        "median": ratios[count // 2],
        "low": ratios[max(0, math.floor(count / 2 - reach))],
        "high": ratios[min(count - 1, math.ceil(count / 2 + reach))],
        "bare_seconds": sorted(bare for bare, _ in pairs)[count // 2],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=["lora", "full"], default="lora")
    parser.add_argument("--shape", default="8x512", choices=["8x512", BUSY])
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--pairs", type=int, default=300)
    asked = parser.parse_args()
    print(torch.cuda.get_device_name())
    arms = {
        "bare": {"watch": False},
        "watch": {"watch": True},
        "watch, drained": {"watch": True, "drained": True},
    }
    for name, options in arms.items():
        found = compare(asked, **options)
        print(
            f"{asked.kind:>5} {name:>14}  {found['median']:.3f} "
            f"({found['low']:.3f} to {found['high']:.3f}), "
            f"bare step {found['bare_seconds'] * 1e3:.2f} ms"
        )


if __name__ == "__main__":
    main()
