"""What the first difference of two runs hangs on, told by what they have recorded.

The order in which it is asked is that in which one thing makes the next: the order of
the rows, the process that made them, the generators behind the step before; for a loss
of the same samples the generators, the weights, versions, and at last the arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ftlab.records.fingerprint import SIDES, Fingerprint
from ftlab.records.loader_start import (
    GENERATORS,
    SYSTEM,
    LoaderStart,
    WorkerStart,
    is_chosen,
)
from ftlab.runlog.number_causes import causes_of_numbers
from ftlab.runlog.run_comparison import IDS, RATES, Parting, rows_by_place
from ftlab.runlog.run_generators import (
    first_training,
    generators_apart,
    listed,
    randomness_of,
)

NUMPY_DRAWN = 1 << 64
"""Seeds from here on NumPy has drawn of the system: no seed was given."""

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ftlab.runlog.run import Run


def cause_of(left: Run, right: Run, found: Parting | None) -> str:
    """Return a sentence; ``""`` where the runs are the same.

    Examples
    --------
    >>> from ftlab.runlog.parting_cause import cause_of
    >>> from ftlab.runlog.run import Run
    >>> cause_of(Run(), Run(), None)
    ''
    """
    if found is None:
        return ""
    if found.sample is not None:
        if sizes := next(_of_sizes(left, right, found.step), ""):
            return sizes
        told = next(_of_samples(left, right, found), "")
        known = _order(left, right) if found.what == IDS else ""
        rest = (
            "in the dataset, or as its sampler says"
            if known
            else "the data, what prepares it, or the tokenizer is another"
        )
        return ": ".join(filter(None, [known, told or rest]))
    if found.what == RATES:
        return "the schedule or its settings are others"
    return next(causes_of_numbers(left, right, found), "")


def _order(left: Run, right: Run) -> str:
    """Say whether the same rows come in another order."""
    steps = np.intersect1d(left.steps.step, right.steps.step)
    fed = [[*rows_by_place(run, steps, "ids").values()] for run in (left, right)]
    if not all(fed):
        return ""
    one, other = (np.unique(np.concatenate(each)) for each in fed)
    same = np.array_equal(one, other, equal_nan=True)
    return "the same samples in another order" if same else ""


# -- samples


def _of_samples(left: Run, right: Run, found: Parting) -> Iterator[str]:
    yield from _of_resumes(left, right)
    (one, batch), (other, _) = (_batch(run, found) for run in (left, right))
    if one is not None and other is not None:
        yield from _of_loaders(one, other)
        yield from _of_held(one, other)
        yield from _of_workers(one.worker_of(batch), other.worker_of(batch))
        yield from _of_tokenizers(left, right)
        yield from _of_contents(one, other)
        if one.workers:
            return
    yield from _of_tokenizers(left, right)
    yield from generators_apart(left, right, found.step)
    yield from _of_hashes(left, right)


def _of_tokenizers(left: Run, right: Run) -> Iterator[str]:
    """Say that the runs began with two tokenizers that differ in more than a side."""
    one, other = (_tokenizer(run) for run in (left, right))
    parts = set(one.differing(other)) - {SIDES} if one and other else set()
    if parts:
        yield f"the tokenizer is another, in {listed(sorted(parts))}"


def _tokenizer(run: Run) -> Fingerprint | None:
    told = (e.detail for e in run.whole.events if e.kind == "tokenizer")
    first = next(told, {}).get("fingerprint")
    return None if first is None else Fingerprint.from_json(first)


def _of_hashes(left: Run, right: Run) -> Iterator[str]:
    """Say that sets of texts come in another order, where nothing else is known."""
    seeds = [randomness_of(run).get("hash_seed") for run in (left, right)]
    if all(seeds) and seeds[0] != seeds[1]:
        one, other = seeds
        yield f"PYTHONHASHSEED is {one}, and {other}: sets come in another order"


def _of_resumes(left: Run, right: Run) -> Iterator[str]:
    """Say that one run goes on from a checkpoint, and what it does with its epoch."""
    told = [dict(first_training(run).get("resumed", {})) for run in (left, right)]
    if told[0] == told[1]:
        return
    for resumed in filter(None, told):
        behind = (
            "leaves out the batches of its epoch that were used before"
            if resumed["skips"]
            else "begins its epoch anew (ignore_data_skip)"
        )
        yield f"one was resumed at step {resumed['step']}, and {behind}"


def loader_starts(run: Run) -> list[LoaderStart]:
    """Return how the run's loader began, epoch by epoch; what was told last holds."""
    events = (each for each in run.whole.events if each.kind == "loader")
    starts = [LoaderStart.from_json(each.detail) for each in events]
    known = {(each.step, each.micro_batch): each for each in starts}
    return [known[place] for place in sorted(known)]


def _batch(run: Run, found: Parting) -> tuple[LoaderStart | None, int]:
    """Return the loader that gave a step's micro-batch, and the batch's number."""
    micro_batch = found.sample[0] if found.sample is not None else 0
    place = found.step, micro_batch
    begun = [e for e in loader_starts(run) if (e.step, e.micro_batch) <= place]
    if not begun:
        return None, 0
    table, start = run.steps, begun[-1]
    between = (table.step >= start.step) & (table.step < found.step)
    count = int(np.nansum(table["micro_batches"][between]))
    return start, count - start.micro_batch + micro_batch


def _of_loaders(one: LoaderStart, other: LoaderStart) -> Iterator[str]:
    if one.order != other.order:
        yield f"rows come {_said(one)} in one, and {_said(other)} in the other"
    if one.seed != other.seed:
        yield f"the order is drawn with {_seed(one)}, and {_seed(other)}"
    if one.epoch != other.epoch:
        yield f"set_epoch has said {one.epoch}, and {other.epoch}"
    if one.workers != other.workers:
        yield f"the loader has {one.workers} workers, and {other.workers}"
    torch_differs = one.rng.get("rng_torch") != other.rng.get("rng_torch")
    if one.order == "random" and one.seed is None and torch_differs:
        yield (
            "the order is drawn from torch's generator, which stood elsewhere when the "
            "loader began: another seed, or something has drawn from it"
        )


def _of_held(one: LoaderStart, other: LoaderStart) -> Iterator[str]:
    """Say which generator of the dataset begins elsewhere."""
    held = {each.name: each for each in other.held}
    for each in one.held:
        if each.kind == SYSTEM and each.name in held:
            yield f"rows may be drawn with {each.name}, which no seed sets"
        twin = held.get(each.name, each)
        drawn = one.draws_from(each.name) is not False
        if drawn and each.state != twin.state:
            seeds = dict.fromkeys(_held_seed(e.seed) for e in (each, twin))
            yield f"{each.name} stood elsewhere at the start: {', and '.join(seeds)}"


def _held_seed(seed: int | None) -> str:
    if seed is None:
        return "a seed that is not known"
    return f"seed {seed}" if is_chosen(seed) else "it was given no seed"


def _of_contents(one: LoaderStart, other: LoaderStart) -> Iterator[str]:
    if one.contents and other.contents and one.contents != other.contents:
        yield (
            "the dataset itself was made otherwise: its fingerprint is "
            f"{one.contents}, and {other.contents}"
        )


def _of_sizes(left: Run, right: Run, step: int) -> Iterator[str]:
    for name, what in (("micro_batches", "micro-batches"), ("batch_size", "rows")):
        counts = []
        for run in (left, right):
            known = run.steps[name][run.steps.step == step] if name in run.steps else ()
            counts += [int(each) for each in known if not np.isnan(each)]
        if len({*counts}) > 1:
            yield f"the step has {counts[0]} {what}, and {counts[1]}"


def _seed(start: LoaderStart) -> str:
    if start.seed is None:
        return "torch's generator"
    return f"the seed {start.seed}" if start.seed < NUMPY_DRAWN else "no seed"


def _said(start: LoaderStart) -> str:
    return {
        "random": "in a random order",
        "stream": "as a stream",
        "own": f"as {start.sampler} says",
    }.get(start.order, start.order)


def _of_workers(one: WorkerStart | None, other: WorkerStart | None) -> Iterator[str]:
    if one is None or other is None:
        return
    columns = [name for name, value in one.rng.items() if other.rng.get(name) != value]
    who = f"worker {one.worker}, which made the batch,"
    if one.seed != other.seed:
        yield f"{who} was seeded {one.seed}, and {other.seed}"
    if columns:
        names = listed([GENERATORS[name] for name in columns])
        seeds = [each.reseeded.get(columns[0]) for each in (one, other)]
        otherwise = "otherwise" if None in seeds else f"with {seeds[0]}, and {seeds[1]}"
        yield (
            f"{who} began with other random numbers of {names}, though torch has "
            f"seeded both {one.seed}: its worker_init_fn seeds it {otherwise}"
        )
