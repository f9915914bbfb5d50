"""The rule DAT029, rows-badly-drawn.

## What it does
Finds rows that are not drawn as they should be: several times in one batch, once from
each worker of the loader, in the same order in each epoch, once more after the training
was resumed, or sorted by their label.

## Why is this bad?
A batch of 8 copies is a batch of 1, at the cost and with the learning rate of eight. A
stream that each worker yields whole is learnt by heart at several times the rate that
was planned. In the same order, neighbours in a batch are neighbours for ever. In the
order of labels, the loss falls while one answer is learnt, jumps where the next kind
begins, and what was learnt of the first is gone. Resumed anew, the rows at the end of
the plan never come.

## Evidence
- *in-batch*: 16 rows of a looked-at step at most, each compared with the others of its
  micro-batch: ids and labels, without padding. A warning where in all of 3 batches at
  least, of 4 rows and more each, fewer than half of the rows are different, while the
  batches are not all the same; else a note, where a quarter of all rows are copies.
  Half is left alone: R-Drop and SimCSE use each row twice. One batch that comes again
  and again is overfitted on purpose.
- *by-workers*: each of the first 3 batches comes exactly as often in a row as the
  loader has workers, each time as another tensor, and its dataset is an
  `IterableDataset`. Loops that use a batch several times on purpose hand over the same
  tensor. Measured: a stream of 12 rows gives 24 with two workers that ignore
  `get_worker_info`.
- *same-order*: the sampler draws its order, and the first rows of an epoch (64 at most,
  8 at least, 4 different ones among them) are those of the epoch before. Measured: a
  `DistributedSampler` without `set_epoch` gives 16 of 16 rows again.
- *resumed*, a note: the Trainer's state where it was resumed and `ignore_data_skip`,
  and a first loader that gives rows in order, or draws its order with a seed and the
  number of the epoch. Measured: a Trainer resumed at step 5 of 8 draws with the seed
  and the epoch of step 0; with batches left out it does not part.
- *sorted*: digests of what each row has besides its ids, its label for a classifier, of
  the first epoch (4,096 rows at most) of a loader that does not shuffle. All rows of
  one digest stand together, each has 8 rows and more on average, and this comes about
  by chance less than once in 10^9 times: `n! / (n1! ... nk!)` orders are alike
  probable, `k!` of them sorted. Left alone where there are no more different rows than
  digests. Measured: 48 rows of 3 labels are told after 36.

By hand: `len(batch["input_ids"].unique(dim=0))`, `next(iter(loader))` twice,
`itertools.groupby(dataset["label"])`, the rows of an epoch with `num_workers=0` and 2.

## What to try
1. Copies: a collator that uses `features[0]` for all, `expand` or `repeat` in place of
   `stack`; a sampler with replacement over few rows; a dataset whose `__getitem__`
   forgets its index.
2. `info = torch.utils.data.get_worker_info()`: yield rows `info.id::info.num_workers`;
   or at least as many shards as workers, or `num_workers=1`.
3. `loader.sampler.set_epoch(epoch)`, `dataset.set_epoch(epoch)` for a stream of the
   library datasets, or a generator that is made once, before the loop.
4. `DataLoader(shuffle=True)`; `dataset.shuffle(seed)` for a stream, which no Trainer
   shuffles. `ignore_data_skip=False`, or another `data_seed` for the rest.

## Known problems
Rows are compared within a micro-batch alone, and only with labels. Workers that shuffle
each for itself repeat rows at other times: not seen. Texts with labels of tokens have a
digest each: their order is not seen. Samplers of one's own are not judged, loops of
one's own do not say that they resume, and whoever trains on one class after the other
on purpose is told. Who sets `ignore_data_skip` may prefer it to waiting.

## References
- torch, `IterableDataset` ("each worker process will have a different copy"),
  `RandomSampler(replacement=True)`, `DistributedSampler`, its warning
- Wu et al., R-Drop, arXiv 2106.14448 (each row twice on purpose)
- huggingface/datasets#3423
- transformers, `TrainingArguments.ignore_data_skip`; `Trainer`: an IterableDataset is
  not shuffled
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence

from ftlab.records.copied_rows import CopiedRows
from ftlab.records.loader_start import LoaderStart
from ftlab.rules.reading.batches import NEEDS as BATCHES_READ, odd_batches
from ftlab.rules.reading.loaders import NEEDS as LOADERS, rows_from
from ftlab.rules.reading.samples import NEEDS as SAMPLES, row_name, samples_of
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.rule import Need, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps
from ftlab.runlog.parting_cause import loader_starts

BATCHES, ROWS = 3, 4
"""Batches that are all so, and the rows of each; the probe waits for as many."""

SHARE, NOTED = 0.5, 0.25
"""Share of different rows from which on nothing is a warning; of copies, for a note."""

COMPARED, LEAST, DIFFERENT, EPOCHS = 64, 8, 4, 4
"""First rows of an epoch that are compared, at most and at least, how many of them have
to be different, and epochs that are looked at."""

PART = 1e-3
"""Part of an epoch below which nothing of it was used."""

SORTED, EACH = 4096, 8
"""First rows that are looked at, and rows of one label that make a kind, on average."""

CHANCE = math.log(1e9)
"""Of one in so many, as a logarithm: what is rarer is no chance."""

Told = tuple[int, CopiedRows]


class RowsBadlyDrawn(Rule):
    """Finds rows that come again, or in an order that nobody wants."""

    code = "DAT029"
    requires = Need(
        "rows of the batches, and where they come from",
        "ftlab.watch(...) of a loop over a DataLoader",
        lambda run: any(each.present(run) for each in (BATCHES_READ, LOADERS, SAMPLES)),
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for each kind."""
        yield from self._in_batches(samples_of(run).copied)
        yield from self._by_workers(run)
        if starts := loader_starts(run):
            yield from self._same_order(run, starts)
            yield from self._resumed(run, starts[0])
            yield from self._sorted(run, starts)

    def _in_batches(self, looked: Sequence[Told]) -> Results:
        twice = [(step, each) for step, each in looked if each.again >= 0]
        rows = sum(each.rows for _, each in looked)
        copies = rows - sum(each.different for _, each in looked)
        if not twice or copies < NOTED * rows or _all_twice(looked):
            return
        steps, first = [step for step, _ in twice], twice[0][1]
        yield self.finding(
            Severity.WARNING if _all_repeated(looked) else Severity.INFO,
            f"{at_steps(min(steps), max(steps))}: {len(twice)} of {len(looked)} "
            f"batches hold rows more than once; in the first, row {first.again} is row "
            f"{first.first} again, and {first.different} of {first.rows} are different",
            cause="The collator fills the batch with one row, or the sampler gives the "
            "same row several times.",
            fix="Let each row of a batch come from a row of its own: look at the "
            "collator, then at the sampler and the dataset's __getitem__.",
            places={
                "sample": [
                    row_name(first.micro_batch, row)
                    for row in (first.again, first.first)
                ]
            },
            steps=(min(steps), max(steps)),
            reason="in-batch",
            evidence={
                "batches": len(twice),
                "of": len(looked),
                "rows": first.rows,
                "different": first.different,
                "threshold": SHARE,
            },
            healthy="rows that are different within each batch",
        )

    def _by_workers(self, run: Run) -> Results:
        for each in odd_batches(run, "repeated")[:1]:
            workers, dataset = int(float(each.odd.value)), each.odd.field
            yield self.warning(
                f"the first {BATCHES} batches came {workers} times each: every one of "
                f"the {workers} workers yields all rows of {dataset}",
                cause="The dataset's __iter__ does not ask which worker it is in.",
                fix="Yield rows info.id::info.num_workers of "
                "torch.utils.data.get_worker_info().",
                places={"data": f"{dataset}, {workers} workers", "sample": "0"},
                steps=(0, each.step),
                reason="by-workers",
                evidence={"workers": workers, "dataset": dataset, "threshold": BATCHES},
                healthy="each batch once in an epoch",
            )

    def _same_order(self, run: Run, starts: list[LoaderStart]) -> Results:
        drawn = [each for each in starts if each.order == "random"]
        if len(drawn) < 2:
            return
        first, *later = [rows_from(run, e, COMPARED, "ids") for e in drawn[:EPOCHS]]
        whole = [_alike(first, rows) for rows in later if len(rows) >= LEAST]
        if not whole or min(whole) < LEAST:
            return
        start = drawn[1]
        fixed = start.epoch is not None
        owner = "loader.sampler" if start.sampler else "dataset"
        yield self.warning(
            f"from step {start.step} on: {len(whole)} later epochs begin with the same "
            f"{min(whole)} rows in the same order, though the loader shuffles",
            cause="set_epoch was not called: the sampler draws with the same seed."
            if fixed
            else "The order is drawn with the same seed in each epoch.",
            fix=f"{owner}.set_epoch(epoch) at the beginning of each epoch."
            if fixed
            else "Make the generator once, before the loop over epochs.",
            places={"object": start.sampler or "DataLoader"},
            steps=(start.step, start.step),
            reason="same-order",
            evidence={"rows": min(whole), "epochs": len(whole), "threshold": LEAST},
            healthy="another order in each epoch",
        )

    def _resumed(self, run: Run, start: LoaderStart) -> Results:
        resumed = first_facts(run).training.get("resumed") or {"skips": True}
        used = float(resumed.get("epoch", 0.0)) % 1.0
        seeded = start.seed is not None and start.epoch is not None
        same = start.order == "in order" or (start.order == "random" and seeded)
        if resumed["skips"] or not PART < used < 1 - PART or not same:
            return
        step = int(resumed["step"])
        yield self.note(
            f"resumed at step {step}, after {used:.0%} of an epoch, which begins anew "
            "in the same order: its rows come a second time",
            cause="ignore_data_skip is True.",
            fix="ignore_data_skip=False, or another data_seed for the rest.",
            places={"config": "args.ignore_data_skip"},
            steps=(step, step),
            reason="resumed",
            evidence={"used": used, "threshold": PART},
            healthy="batches that were used are left out",
        )

    def _sorted(self, run: Run, starts: list[LoaderStart]) -> Results:
        start = starts[0]
        if start.order not in ("in order", "stream"):
            return
        rows = _first_epoch(run, starts, "others")
        counts = Counter(rows)
        changes = sum(a != b for a, b in itertools.pairwise(rows))
        kinds = len(counts)
        if kinds < 2 or changes != kinds - 1 or len(rows) < EACH * kinds:
            return
        copies = 0 < len(set(_first_epoch(run, starts, "ids"))) <= kinds
        if _rarity(counts) <= CHANCE or copies:
            return
        yield self.warning(
            f"the first {len(rows)} rows come sorted: {kinds} labels, one after the "
            "other",
            cause="The file is sorted, and the loader does not shuffle."
            if start.order == "in order"
            else f"{start.dataset} gives rows in an order that is sorted.",
            fix="DataLoader(shuffle=True), or dataset.shuffle(seed) for a stream.",
            places={"data": f"{start.dataset}, {start.order}"},
            steps=(start.step, start.step),
            reason="sorted",
            evidence={"rows": len(rows), "labels": kinds, "threshold": EACH},
            healthy="labels that change from row to row",
        )


def _all_twice(looked: Sequence[Told]) -> bool:
    """Tell whether each row is there twice in all batches, as R-Drop has it."""
    return all(e.rows >= ROWS and 2 * e.different == e.rows for _, e in looked)


def _all_repeated(looked: Sequence[Told]) -> bool:
    """Tell whether rows are copies in all batches, and these are not one batch."""
    contents = {each.content for _, each in looked}
    if len(contents) < BATCHES:
        return False
    return all(
        each.rows >= ROWS and each.different < SHARE * each.rows for _, each in looked
    )


def _alike(one: list[float], other: list[float]) -> int:
    """Return how many rows are compared; 0 where they are not the same."""
    length = min(len(one), len(other))
    same = one[:length] == other[:length] and len({*one[:length]}) >= DIFFERENT
    return length if same else 0


def _first_epoch(run: Run, starts: list[LoaderStart], column: str) -> list[float]:
    whole = run.window(0, starts[1].step) if len(starts) > 1 else run.window(0)
    return rows_from(whole, starts[0], SORTED, column)


def _rarity(counts: Counter[float]) -> float:
    """Return the logarithm of how many orders there are for one that is sorted."""
    orders = math.lgamma(counts.total() + 1)
    orders -= sum(math.lgamma(each + 1) for each in counts.values())
    return orders - math.lgamma(len(counts) + 1)
