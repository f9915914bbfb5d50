"""How a data loader began to give out the batches of a training."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

GENERATORS = {
    "rng_python": "Python's random",
    "rng_numpy": "numpy.random",
    "rng_torch": "torch",
    "rng_cuda": "torch on CUDA",
}
"""Columns of the steps that follow a generator, and whose it is."""


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """One process of a loader, behind its ``worker_init_fn``.

    Attributes
    ----------
    worker
        Its number, from 0.
    seed
        What torch has seeded it with; ``worker_init_fn`` may have changed its
        generators since.
    rng
        Digests of its generators, by column of `ftlab.probes.seeds.rng_states`.
    """

    worker: int
    seed: int
    rng: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoaderStart:
    """One ``iter(loader)``.

    Attributes
    ----------
    step, micro_batch
        Where in the training its first batch was used.
    dataset, sampler
        Names of classes; ``sampler`` is ``""`` for a stream.
    order
        ``"random"``, ``"in order"``, ``"stream"``, or ``"own"`` for other samplers.
    seed
        What the order is drawn with, where the loader or sampler has a seed or a
        generator of its own; ``None`` where it is drawn from torch's global generator.
    epoch
        What `set_epoch` has said; ``None`` where nothing keeps it.
    workers
        How many processes it has; 0 for none.
    started
        Those that have told how they began.
    rng
        Digests of the generators of the main process before it.
    """

    step: int
    micro_batch: int = 0
    dataset: str = ""
    sampler: str = ""
    order: str = ""
    seed: int | None = None
    epoch: int | None = None
    workers: int = 0
    started: tuple[WorkerStart, ...] = ()
    rng: Mapping[str, float] = field(default_factory=dict)

    def worker_of(self, batch: int) -> WorkerStart | None:
        """Return the process that made a batch, counted from this start.

        Batches go round the workers in turn. ``None`` without workers, or where that
        one has not told how it began.

        Examples
        --------
        >>> from ftlab.records.loader_start import LoaderStart, WorkerStart
        >>> started = (WorkerStart(0, 7), WorkerStart(1, 8))
        >>> LoaderStart(0, workers=2, started=started).worker_of(3)
        WorkerStart(worker=1, seed=8, rng={})
        """
        if not self.workers:
            return None
        number = batch % self.workers
        return next((each for each in self.started if each.worker == number), None)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "LoaderStart":
        """Return the start that `as_json` wrote.

        Examples
        --------
        >>> from ftlab.records.loader_start import LoaderStart, WorkerStart
        >>> start = LoaderStart(0, workers=1, started=(WorkerStart(0, 7),))
        >>> LoaderStart.from_json(start.as_json()) == start
        True
        """
        known = {name: read[name] for name in cls.__dataclass_fields__ if name in read}
        started = tuple(WorkerStart(**each) for each in known.pop("started", ()))
        return cls(**known, started=started)
