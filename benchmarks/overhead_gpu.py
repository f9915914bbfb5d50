"""What watching costs on a GPU: wall time, as the step's work happens elsewhere.

The twins of `benchmarks.overhead`, on a CUDA device: one step of each in turn, on the
same batch, the device waited for after each, so that what either left in its queue
counts to it. ``watch`` is as a user has it: what the log's thread does beside the bare
step slows that one too. ``watch, drained`` waits for that thread within the watched
step, which no training does: no more than this can it be. The median of the paired
ratios is given with its distribution-free 95 % interval.

The twins are small, so that their steps wait for the launches of kernels, and each
launch of ours counts. How much of that a model hides which keeps the device busy is not
seen here.

    python -m benchmarks.overhead_gpu --kind lora --pairs 300
"""

import argparse
import time
from functools import partial

import torch

from benchmarks.overhead import Arm, Clock, Pairs, Twin, bare, batch, watch


class DeviceClock(Clock):
    """Wall seconds until the device has done what it was asked to do."""

    def now(self) -> tuple[float, float]:
        """Return (wall time, nothing: a thread beside the step does not delay it)."""
        torch.cuda.synchronize()
        return time.perf_counter(), 0.0


def compare(
    kind: str, arm: Arm, count: int, *, drained: bool = False, warm_up: int = 20
) -> dict[str, float]:
    """Train a bare twin and an armed twin in turn; return the ratio of their times."""
    plain, armed = Twin(kind), Twin(kind)
    for twin in (plain, armed):
        twin.model.cuda()
    pairs = Pairs(DeviceClock())
    with arm(armed):
        if not drained:
            armed.after = lambda: None
        for index in range(count + warm_up):
            data = batch(index, "cuda")
            pairs.time_bare(partial(plain.step, data))
            pairs.time_watched(partial(armed.step, data))
            if index < warm_up:
                pairs.bare.clear()
                pairs.watched.clear()
    return pairs.ratio()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=["lora", "full"], default="lora")
    parser.add_argument("--pairs", type=int, default=300)
    asked = parser.parse_args()
    print(torch.cuda.get_device_name())
    arms: dict[str, tuple[Arm, bool]] = {
        "bare": (bare, False),
        "watch": (watch, False),
        "watch, drained": (watch, True),
    }
    for name, (arm, drained) in arms.items():
        found = compare(asked.kind, arm, asked.pairs, drained=drained)
        print(
            f"{asked.kind:>5} {name:>14}  {found['median']:.3f} "
            f"({found['low']:.3f} to {found['high']:.3f}), "
            f"bare step {found['bare_seconds'] * 1e3:.2f} ms"
        )


if __name__ == "__main__":
    main()
