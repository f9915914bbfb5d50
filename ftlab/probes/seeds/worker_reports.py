"""How the processes of a data loader begin, as they tell it themselves.

`Reporting` stands in for ``worker_init_fn`` in the workers: it calls the user's own
function and then writes down, into a file of a folder, where the worker's generators
stand. Nothing is drawn, and a worker that cannot write goes on all the same.
"""

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.seeds.rng_states import rng_digests
from ftlab.records.loader_start import WorkerStart


class Reporting:
    """A ``worker_init_fn`` that reports; can be pickled where the user's own can.

    Parameters
    ----------
    inner
        The user's function, or ``None``.
    folder
        Where the reports go.
    """

    def __init__(self, inner: Callable[[int], Any] | None, folder: Path) -> None:
        self.inner = inner
        self.folder = folder

    def __call__(self, worker: int) -> None:
        """Run in the worker, before its first batch."""
        if self.inner is not None:
            self.inner(worker)
        with contextlib.suppress(Exception):  # nothing of ours may end a worker
            info: Any = torch.utils.data.get_worker_info()
            told = {"worker": worker, "seed": info.seed, "rng": rng_digests()}
            written = self.folder / f"{os.getpid()}.part"
            written.write_text(json.dumps(told), encoding="utf-8")
            written.rename(self.folder / f"worker-{worker}.json")


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
    return tuple(sorted((WorkerStart(**told) for told in read), key=_number))


def _number(start: WorkerStart) -> int:
    return start.worker
