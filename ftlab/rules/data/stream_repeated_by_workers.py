"""The rule DAT008, stream-repeated-by-workers.

## What it does
Finds streamed datasets of which every worker of the loader yields all rows.

## Why is this bad?
Each sample comes once from each worker, so an epoch is several. The model sees the same
batch again and again, and learns it by heart at several times the rate that was
planned.

## Evidence
Some numbers of each row of the batches. Each of the first 3 batches comes exactly as
often in a row as the loader has workers, each time as another tensor, and the dataset
of that loader is an `IterableDataset`. Threshold: 3 batches. Loops that use a batch
several times on purpose hand over the same tensor, or have another number of workers.
Measured: a stream of 12 rows gives 24 with two workers that ignore `get_worker_info`.
By hand: count the rows of an epoch with `num_workers=0`, and with 2.

## What to try
1. `info = torch.utils.data.get_worker_info()`: yield rows `info.id::info.num_workers`.
2. `datasets.IterableDataset` with at least as many shards as workers.
3. `num_workers=1`.

## Known problems
Workers that shuffle each for itself repeat rows at other times: not seen.

## References
- torch, `IterableDataset`: "each worker process will have a different copy"
- huggingface/datasets#3423
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.batches import NEEDS, odd_batches
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

BATCHES = 3
"""Batches that came once from each worker; as many as the probe waits for."""


class StreamRepeatedByWorkers(Rule):
    """Finds streams that each worker yields whole."""

    code = "DAT008"
    name = "stream-repeated-by-workers"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the loader."""
        for each in odd_batches(run, "repeated")[:1]:
            workers, dataset = int(float(each.odd.value)), each.odd.field
            yield self.finding(
                Severity.WARNING,
                f"the first {BATCHES} batches came {workers} times each: every one of "
                f"the {workers} workers yields all rows of {dataset}",
                cause="The dataset's __iter__ does not ask which worker it is in.",
                fix="Yield rows info.id::info.num_workers of "
                "torch.utils.data.get_worker_info().",
                places=[
                    Place("data", f"{dataset}, {workers} workers"),
                    Place("sample", "0"),
                ],
                steps=(0, each.step),
                evidence={
                    "workers": workers,
                    "dataset": dataset,
                    "threshold": BATCHES,
                },
                healthy="each batch once in an epoch",
            )
