"""The rule TIM001, waits-for-data.

## What it does
Finds trainings whose steps wait for the next batch, and names the line that makes it.

## Why is this bad?
The device is idle while it waits: a GPU that waits a third of each step costs a third
of its price for nothing. Nothing is learnt wrongly.

## Evidence
The time that the training thread spends within the loader's `__next__`, from step 4 on,
8 steps at least; told where its median is 20 % of a step and 3 ms: as a warning once it
has cost 10 s, before that as a note. A thread of ftlab looks at
the training thread's stack a hundred times a second: the line where it is met most
often is the cause. With worker processes it is met waiting; then the number of workers
and the times say how many would do.
Measured: a loader over tensors in memory takes 0.3 to 1.5 ms beside 25 ms of a step.

## What to try
1. `num_workers=` of the loader (`dataloader_num_workers=` of a trainer's arguments),
   with `persistent_workers=True` and `pin_memory=True` on a GPU.
2. Move work out of `__getitem__` and the collator: tokenise once, with
   `dataset.map(..., batched=True)`.
3. Read files once, and keep what is decoded.

## Known problems
A loop that makes its batches without a DataLoader is not seen to wait: TIM002 names the
line. On a GPU the host's wait may hide behind work that the device still has to do.

## References
- PyTorch, "Performance Tuning Guide", asynchronous data loading
- huggingface/transformers, `dataloader_num_workers`
"""

import math

from ftlab.records.step_time import HotPlace
from ftlab.rules.reading.timing import NEEDS, StepTimes, at_line, step_times
from ftlab.rules.rule import Results, Rule, Run
from ftlab.rules.words import at_steps, counted

SHARE = 0.2
"""Part of a step from which waiting is told."""

LEAST = 0.003
"""Seconds of a step that it must take."""


class WaitsForData(Rule):
    """Finds steps that wait for their batch."""

    code = "TIM001"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding over all settled steps."""
        times = step_times(run)
        if times is None or times.seconds["data"] < LEAST:
            return
        share, waited = times.share("data"), 1e3 * times.seconds["data"]
        if share < SHARE:
            return
        place = times.hottest("data")
        cause, fix = _words(times, place)
        yield self.finding(
            times.severity("data"),
            f"{at_steps(*times.steps)}: {share:.0%} of a step, {waited:.0f} ms, is "
            "spent waiting for the next batch",
            cause=cause,
            fix=fix,
            places={
                "config": "num_workers",
                "call": [place.place] if place is not None else (),
            },
            steps=times.steps,
            evidence={
                "share": share,
                "threshold": SHARE,
                "data_ms": waited,
                "step_ms": 1e3 * times.step,
            },
            healthy="the next batch is there when the step begins",
        )


def _words(times: StepTimes, place: HotPlace | None) -> tuple[str, str]:
    workers = times.sampled.workers
    if workers > 0:
        rest = max(times.step - times.seconds["data"], 1e-9)
        needed = max(math.ceil(workers * times.step / rest), workers + 1)
        return (
            f"{counted(workers, 'worker process', 'worker processes')} of the loader "
            f"bring a batch every {1e3 * times.step:.0f} ms, and the rest of a step "
            f"takes {1e3 * rest:.0f} ms.",
            f"num_workers={needed} would keep up, where there are as many cores; or do "
            f"less in the dataset's __getitem__ and in the collator.",
        )
    where = f" Most of it at {at_line(place)}." if place is not None else ""
    return (
        f"The batch is made on the training thread.{where}",
        "Do it once, before training, or in worker processes: num_workers=4, "
        "persistent_workers=True.",
    )
