"""Whether another start of a run would see the same data, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ftlab.records.loader_start import (
    DRAWN_SEED,
    GENERATORS,
    SYSTEM,
    LoaderStart,
    WorkerStart,
    is_chosen,
)
from ftlab.runlog.parting_cause import loader_starts
from ftlab.runlog.run_generators import first_training
from ftlab.runlog.seed_chain import (
    SEEDS,
    held_is_fixed,
    order_is_fixed,
    torch_is_fixed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ftlab.runlog.run import Run

YES = "yes, all generators that were found begin the same"

NEAR = 1 << 16
"""Numbers that a worker's seed and what is derived from it may be apart."""

LARGE = 1 << 20
"""Numbers from here on are hardly ever chosen."""

_Doubt = tuple[bool | None, str]
"""What is wrong: ``False`` for what is certain to differ; and a sentence."""


@dataclass(frozen=True, slots=True)
class SameData:
    """The verdict.

    Attributes
    ----------
    same
        ``None`` where nobody can tell.
    why
        What it hangs on; ``""`` for yes.
    """

    same: bool | None
    why: str = ""

    def __str__(self) -> str:
        if self.same is None:
            return f"nobody can tell: {self.why}"
        return YES if self.same else f"no, because {self.why}"


def same_data(run: Run) -> SameData:
    """Judge by the sources of randomness, and by what was drawn from them.

    Rows are taken for what they are: whether a file will be the same, nothing tells.

    Examples
    --------
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.runlog.same_data import same_data
    >>> print(same_data(Run()))
    nobody can tell: no DataLoader was begun while watching
    """
    starts = loader_starts(run)
    if not starts:
        return SameData(None, "no DataLoader was begun while watching")
    known = first_training(run).get("randomness", {})
    doubts = [
        *_of_order(starts[0], torch_is_fixed(known)),
        *_of_held(starts),
        *_of_workers(starts, torch_is_fixed(known)),
        *(_of_process(run, known) if not starts[0].workers else ()),
    ]
    for same in (False, None):
        found = [why for certain, why in doubts if certain is same]
        if found:
            return SameData(same, found[0])
    return SameData(True)


def _of_order(start: LoaderStart, torch: bool | None) -> Iterator[_Doubt]:
    fixed = order_is_fixed(start, torch)
    if fixed:
        return
    said = {
        "stream": f"the order is that of the stream {start.dataset}",
        "own": f"the order is that of {start.sampler}",
    }.get(start.order)
    if said is None and start.seed is None:
        seeded = "was seeded by the clock" if torch is None else "was not seeded"
        said = f"the order is drawn from torch's generator, which {seeded}"
    elif said is None and fixed is False:
        said = f"{start.dataset} was shuffled without a seed"
    elif said is None:
        said = f"the order is drawn with {start.seed}, which was drawn itself"
    yield fixed, said


def _of_held(starts: list[LoaderStart]) -> Iterator[_Doubt]:
    """Judge generators that the dataset holds: those of a stream order its rows."""
    for each in starts[0].held:
        fixed = held_is_fixed(each)
        # one that asks the machine has no state by which drawing shows
        drawn = None if each.kind == SYSTEM else _is_drawn(each.name, starts)
        if fixed or drawn is False:
            continue
        seeded = "was not seeded" if fixed is False else "has a seed that is not known"
        seeded = "no seed sets" if each.kind == SYSTEM else seeded
        if drawn:
            yield fixed, f"rows are drawn with {each.name}, which {seeded}"
        else:
            which = f"{each.name}, which {seeded}"
            yield None, f"rows may be drawn with {which}"


def _is_drawn(name: str, starts: list[LoaderStart]) -> bool | None:
    told = [start.draws_from(name) for start in starts]
    if any(told):
        return True
    return None if None in told else False


def _of_workers(starts: list[LoaderStart], torch: bool | None) -> Iterator[_Doubt]:
    seed = starts[0].workers_seed
    fixed = torch if seed is None else is_chosen(seed) or None
    for worker in (each for start in starts for each in start.started):
        if worker.drawn is None and (not fixed or None in worker.reseeded.values()):
            yield None, f"worker {worker.worker} has not told what it draws from"
        for column in worker.drawn or ():
            yield from _of_drawn(worker, column, fixed)


def _of_drawn(worker: WorkerStart, column: str, fixed: bool | None) -> Iterator[_Doubt]:
    if column not in GENERATORS:
        return
    who = f"worker {worker.worker} draws from {GENERATORS[column]}, which"
    seed = worker.reseeded.get(column, worker.seed)
    if seed is None or (seed >= LARGE and not _is_derived(seed, worker)):
        yield None, f"{who} its worker_init_fn seeds with a number nobody knows"
    elif seed >= LARGE and not fixed:
        by = "torch's generator" if fixed is False else "a generator"
        yield fixed, f"{who} is seeded by {by} that was not seeded itself"


def _is_derived(seed: int, worker: WorkerStart) -> bool:
    """Tell a seed that was made of the one that torch gave the worker."""
    return abs(seed % DRAWN_SEED - worker.seed % DRAWN_SEED) < NEAR


def _of_process(run: Run, known: Mapping[str, object]) -> Iterator[_Doubt]:
    """Judge generators of the main process that steps have drawn from."""
    table = run.steps
    for column, name in GENERATORS.items():
        values = table[column] if column in table else np.zeros(0)
        count = int((values[1:] != values[:-1]).sum()) if len(values) > 1 else 0
        seeded = known.get(SEEDS[column]) is not None if column in SEEDS else None
        seeded = torch_is_fixed(known) if seeded is None else seeded
        if count and np.isfinite(values).any() and not seeded:
            yield (
                None,
                f"{count} steps draw from {name}, of which no seed is known, "
                "and rows may be made with it",
            )
