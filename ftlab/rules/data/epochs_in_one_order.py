"""The rule DAT056, epochs-in-one-order.

## What it does
Finds loaders that shuffle, and whose epochs all come in the same order.

## Why is this bad?
Each epoch has the same batches as the one before: neighbours in a batch are neighbours
for ever, and the noise of their gradients, which shuffling is for, is the same each
time. On several processes it is the rule without `set_epoch`.

## Evidence
What `iter(loader)` was seen to begin with, and digests of the rows of each step. The
sampler draws its order, and the first rows of an epoch (64 at most, 8 at least, 4
different ones among them) are those of the epoch before, one by one.
Measured: a `DistributedSampler` without `set_epoch` gives 16 of 16 rows again; with it
the first rows are others.
By hand: `next(iter(loader))` twice.

## What to try
1. `loader.sampler.set_epoch(epoch)` at the beginning of each epoch;
   `dataset.set_epoch(epoch)` for a stream of the library datasets.
2. A generator that is made once, before the loop, and not seeded in each epoch.

## Known problems
Loaders that give rows in their own order are left alone: that is a choice.

## References
- torch, `torch.utils.data.distributed.DistributedSampler`, its warning
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.loader_start import LoaderStart
from ftlab.rules.reading.loaders import NEEDS, has_loader, rows_from
from ftlab.rules.rule import Rule
from ftlab.runlog.parting_cause import loader_starts
from ftlab.runlog.run import Run

ROWS, LEAST, DIFFERENT = 64, 8, 4
"""First rows of an epoch that are compared, at most and at least, and how many of them
have to be different."""

EPOCHS = 4
"""Epochs that are looked at."""


class EpochsInOneOrder(Rule):
    """Finds shuffled epochs that repeat each other."""

    code = "DAT056"
    name = "epochs-in-one-order"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Leave out runs whose loop has no DataLoader."""
        return has_loader(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding where each later epoch repeats the first."""
        starts = [each for each in loader_starts(run) if each.order == "random"]
        if len(starts) < 2:
            return
        first, *later = [rows_from(run, e, ROWS, "ids") for e in starts[:EPOCHS]]
        same = [_length(first, each) for each in later]
        whole = [n for n, rows in zip(same, later, strict=True) if len(rows) >= LEAST]
        if whole and min(whole) >= LEAST:
            yield self._finding(starts[1], len(whole), min(whole))

    def _finding(self, start: LoaderStart, epochs: int, rows: int) -> Finding:
        fixed = start.epoch is not None
        return self.finding(
            Severity.WARNING,
            f"from step {start.step} on: {epochs} later epochs begin with the same "
            f"{rows} rows in the same order, though the loader shuffles",
            cause="set_epoch was not called: the sampler draws with the same seed."
            if fixed
            else "The order is drawn with the same seed in each epoch.",
            fix=f"{_owner(start)}.set_epoch(epoch) at the beginning of each epoch."
            if fixed
            else "Make the generator once, before the loop over epochs.",
            places=[Place("object", start.sampler or "DataLoader")],
            steps=(start.step, start.step),
            evidence={"rows": rows, "epochs": epochs, "threshold": LEAST},
            healthy="another order in each epoch",
        )


def _owner(start: LoaderStart) -> str:
    """Say what has a ``set_epoch``: a sampler, or a stream that shuffles itself."""
    return "loader.sampler" if start.sampler else "dataset"


def _length(one: list[float], other: list[float]) -> int:
    """Return how many rows are compared; 0 where they are not the same."""
    length = min(len(one), len(other))
    same = one[:length] == other[:length] and len({*one[:length]}) >= DIFFERENT
    return length if same else 0
