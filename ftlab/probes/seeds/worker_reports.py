"""How the processes of a data loader begin and end, as they tell it themselves.

`Reporting` stands in for ``worker_init_fn`` in the workers: it calls the user's own
function and then writes down, into files of a folder, where the worker's generators
stand; once more when the process ends, which of them have been drawn from; and what of
its memory grows with each batch. Nothing is drawn, and a worker that cannot write goes
on all the same.
"""

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.holding.in_worker import look_in_worker
from ftlab.probes.seeds.held_generators import held_states
from ftlab.probes.seeds.known_seeds import (
    global_numpy,
    global_python,
    numpy_seed,
    python_seed,
)
from ftlab.probes.seeds.rng_states import rng_digests
from ftlab.records.holding import Growth
from ftlab.records.loader_start import WorkerStart

_LAST = 0
"""Priority among what a process does at its end; some number, or it is not done."""


class Reporting:
    """A ``worker_init_fn`` that reports; can be pickled where the user's own can.

    Parameters
    ----------
    inner
        The user's function, or ``None``.
    folder
        Where the reports go.
    collate
        What makes batches of rows; it may hold generators, as the dataset may.
    """

    def __init__(
        self, inner: Callable[[int], Any] | None, folder: Path, collate: Any = None
    ) -> None:
        self.inner = inner
        self.folder = folder
        self.collate = collate

    def __call__(self, worker: int) -> None:
        """Run in the worker, before its first batch."""
        before = _quiet_digests()
        if self.inner is not None:
            self.inner(worker)
        with contextlib.suppress(Exception):  # nothing of ours may end a worker
            self._begin(worker, before)

    def _begin(self, worker: int, before: dict[str, float]) -> None:
        info: Any = torch.utils.data.get_worker_info()
        owners = info.dataset, self.collate
        rng, held = rng_digests(), held_states(*owners)
        moved = [name for name in rng if name in before and rng[name] != before[name]]
        reseeded = {name: _seed_of(name) for name in moved}
        told = {"worker": worker, "seed": info.seed, "rng": rng}
        self._write(f"worker-{worker}", told | {"reseeded": reseeded, "held": held})
        Finalize(None, self._end, (worker, owners, rng | held), exitpriority=_LAST)
        look_in_worker(partial(self._grown, worker))

    def _grown(self, worker: int, batches: int, growth: list[Growth]) -> None:
        told = [{"batches": batches, "growth": asdict(each)} for each in growth]
        self._write(f"growth-{worker}-{batches}", told)

    def _end(self, worker: int, owners: Any, began: dict[str, float]) -> None:
        with contextlib.suppress(Exception):
            now = rng_digests() | held_states(*owners)
            drawn = [name for name in began if now.get(name) != began[name]]
            self._write(f"end-{worker}", {"drawn": drawn})

    def _write(self, name: str, told: Any) -> None:
        written = self.folder / f"{os.getpid()}.part"
        written.write_text(json.dumps(told), encoding="utf-8")
        written.rename(self.folder / f"{name}.json")


def _quiet_digests() -> dict[str, float]:
    with contextlib.suppress(Exception):
        return rng_digests()
    return {}


def _seed_of(column: str) -> int | None:
    """Return what a generator of this process was seeded with, where it is known."""
    torch_seed = torch.initial_seed()
    if column == "rng_python":
        return python_seed(global_python(), [torch_seed])
    if column == "rng_numpy":
        return numpy_seed(global_numpy(), [torch_seed])
    return torch_seed


def reported(folder: Path) -> tuple[WorkerStart, ...]:
    """Read what the workers have told so far, in the order of their numbers.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.seeds.worker_reports import reported
    >>> reported(Path("not-there"))
    ()
    """
    read = [json.loads(each.read_bytes()) for each in folder.glob("worker-*.json")]
    started = sorted((WorkerStart(**told) for told in read), key=_number)
    return tuple(_until_now(folder, each) for each in started)


def _until_now(folder: Path, start: WorkerStart) -> WorkerStart:
    number = start.worker
    files = sorted(folder.glob(f"growth-{number}-*.json"), key=os.path.getmtime)
    growth = tuple(grown for each in files for grown in json.loads(each.read_bytes()))
    return replace(start, drawn=_drawn(folder, number), growth=growth)


def _drawn(folder: Path, worker: int) -> tuple[str, ...] | None:
    end = folder / f"end-{worker}.json"
    return tuple(json.loads(end.read_bytes())["drawn"]) if end.exists() else None


def _number(start: WorkerStart) -> int:
    return start.worker
