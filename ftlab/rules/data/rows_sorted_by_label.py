"""The rule DAT083, rows-sorted-by-label.

## What it does
Finds rows that come in the order of their file, all of one label and then all of the
next.

## Why is this bad?
Each batch holds one kind only. The loss falls while it learns to give one answer, jumps
where the next kind begins, and what was learnt of the first is gone.

## Evidence
Digests of what each row has besides its ids, its label for a classifier, of the first
epoch (4,096 rows at most) of a loader that does not shuffle. Told where all rows of one
digest stand together, each digest has 8 rows and more on average, and this comes about
by chance less than once in 10^9 times: `n! / (n1! ... nk!)` orders are alike probable,
and `k!` of them are sorted. Left alone where there are no more different rows than
digests: these are copies, which is DAT029's matter.
Of 64 rows of 2 labels, once in 10^18; drawn at random they change their label some 32
times. Measured: 48 rows of 3 labels are told after 36.
By hand: `itertools.groupby(dataset["label"])`.

## What to try
1. `DataLoader(shuffle=True)`; `dataset.shuffle(seed)` for a stream, which no Trainer
   shuffles.

## Known problems
Texts with labels of tokens have a digest each: sources and lengths in order are not
seen. Who trains on one class after the other on purpose is told all the same; samplers
of one's own are not judged.

## References
- transformers, `Trainer`: an IterableDataset is not shuffled
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.loader_start import LoaderStart
from ftlab.rules.reading.loaders import NEEDS, has_loader, rows_from
from ftlab.rules.rule import Rule
from ftlab.runlog.parting_cause import loader_starts
from ftlab.runlog.run import Run

ROWS = 4096
"""First rows that are looked at."""

EACH = 8
"""Rows of one label, on average, from which on labels are kinds."""

CHANCE = math.log(1e9)
"""Of one in so many, as a logarithm: what is rarer is no chance."""

_UNSHUFFLED = ("in order", "stream")


class RowsSortedByLabel(Rule):
    """Finds labels that come one after the other."""

    code = "DAT083"
    name = "rows-sorted-by-label"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Leave out runs whose loop has no DataLoader."""
        return has_loader(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding about the first epoch."""
        starts = loader_starts(run)
        if not starts or starts[0].order not in _UNSHUFFLED:
            return
        rows = _first_epoch(run, starts)
        counts = Counter(rows)
        changes = sum(a != b for a, b in itertools.pairwise(rows))
        kinds = len(counts)
        if kinds < 2 or changes != kinds - 1 or len(rows) < EACH * kinds:
            return
        if _rarity(counts) > CHANCE and not _are_copies(run, starts, kinds):
            yield self._finding(starts[0], len(rows), kinds)

    def _finding(self, start: LoaderStart, rows: int, kinds: int) -> Finding:
        return self.finding(
            Severity.WARNING,
            f"the first {rows} rows come sorted: {kinds} labels, one after the other",
            cause="The file is sorted, and the loader does not shuffle."
            if start.order == "in order"
            else f"{start.dataset} gives rows in an order that is sorted.",
            fix="DataLoader(shuffle=True), or dataset.shuffle(seed) for a stream.",
            places=[Place("data", f"{start.dataset}, {start.order}")],
            steps=(start.step, start.step),
            evidence={"rows": rows, "labels": kinds, "threshold": EACH},
            healthy="labels that change from row to row",
        )


def _are_copies(run: Run, starts: list[LoaderStart], kinds: int) -> bool:
    """Tell whether there are no more rows than labels: each is one text again."""
    return 0 < len(set(_first_epoch(run, starts, "ids"))) <= kinds


def _first_epoch(
    run: Run, starts: list[LoaderStart], column: str = "others"
) -> list[float]:
    whole = run.window(0, starts[1].step) if len(starts) > 1 else run.window(0)
    return rows_from(whole, starts[0], ROWS, column)


def _rarity(counts: Counter[float]) -> float:
    """Return the logarithm of how many orders there are for one that is sorted."""
    orders = math.lgamma(counts.total() + 1)
    orders -= sum(math.lgamma(each + 1) for each in counts.values())
    return orders - math.lgamma(len(counts) + 1)
