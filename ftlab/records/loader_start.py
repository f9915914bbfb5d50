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


DRAWN_SEED = 1 << 32
"""Seeds from here on are no choice of anybody's: torch and NumPy draw such ones where
they are given none, and a seed for all generators has to be below."""

DEFAULT_SEED = 67_280_421_310_721
"""The seed of a ``torch.Generator()`` that nobody has seeded, everywhere the same."""


SYSTEM = "system"
"""Kind of a generator that asks the machine, and that no seed sets."""


def is_chosen(seed: int) -> bool:
    """Tell a seed that somebody has chosen from one that was drawn.

    Examples
    --------
    >>> from ftlab.records.loader_start import is_chosen
    >>> is_chosen(42), is_chosen(13108032414034955268)
    (True, False)
    """
    return seed < DRAWN_SEED or seed == DEFAULT_SEED


@dataclass(frozen=True, slots=True)
class HeldGenerator:
    """A generator of random numbers that a dataset holds for itself.

    Attributes
    ----------
    name
        Where it is held: ``"transform.rng"``.
    kind
        ``"Python"``, ``"NumPy"``, ``"torch"``, or ``"system"`` for one that no seed
        sets.
    seed
        What it began with; ``None`` where that is not known.
    state
        Digest of where it stands.
    """

    name: str
    kind: str
    seed: int | None = None
    state: float = 0.0


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
    reseeded
        Generators that its ``worker_init_fn`` has put elsewhere, by column, with the
        seed where it is known.
    held
        Digests of the generators of its copy of the dataset, by name.
    drawn
        Columns and names of the generators that it has drawn from until its end;
        ``None`` where it has not told of an end.
    growth
        What of its memory grows: ``growth``, a `ftlab.records.holding.Growth` in JSON,
        and ``batches``, how many it had made by then.
    """

    worker: int
    seed: int
    rng: Mapping[str, float] = field(default_factory=dict)
    reseeded: Mapping[str, int | None] = field(default_factory=dict)
    held: Mapping[str, float] = field(default_factory=dict)
    drawn: tuple[str, ...] | None = None
    growth: tuple[Mapping[str, Any], ...] = ()


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
    workers_seed
        What the seeds of the workers are drawn with; ``None`` for torch's global
        generator.
    held
        Generators that the dataset holds.
    drawn
        Names of those of them that the main process has drawn from since; ``None``
        where nobody has looked.
    contents
        The fingerprint of a ``datasets.Dataset``; ``""`` for others.
    skipped
        Batches at the beginning that are left out.
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
    workers_seed: int | None = None
    held: tuple[HeldGenerator, ...] = ()
    drawn: tuple[str, ...] | None = None
    contents: str = ""
    skipped: int = 0

    def worker_of(self, batch: int) -> WorkerStart | None:
        """Return the process that made a batch, counted from this start.

        Batches go round the workers in turn. ``None`` without workers, or where that
        one has not told how it began.

        Examples
        --------
        >>> from ftlab.records.loader_start import LoaderStart, WorkerStart
        >>> started = (WorkerStart(0, 7), WorkerStart(1, 8))
        >>> LoaderStart(0, workers=2, started=started).worker_of(3).seed
        8
        """
        if not self.workers:
            return None
        number = batch % self.workers
        return next((each for each in self.started if each.worker == number), None)

    def draws_from(self, generator: str) -> bool | None:
        """Tell whether rows were drawn with a generator of the dataset.

        ``None`` where not all that make rows have told.

        Examples
        --------
        >>> from ftlab.records.loader_start import LoaderStart
        >>> LoaderStart(0, drawn=("Rows.rng",)).draws_from("Rows.rng")
        True
        """
        told = [each.drawn for each in self.started] if self.workers else [self.drawn]
        if any(each is not None and generator in each for each in told):
            return True
        return None if None in told or len(told) < self.workers else False

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
        started = tuple(map(_worker, known.pop("started", ())))
        held = tuple(HeldGenerator(**each) for each in known.pop("held", ()))
        drawn = _names(known.pop("drawn", None))
        return cls(**known, started=started, held=held, drawn=drawn)


def _worker(read: Mapping[str, Any]) -> WorkerStart:
    growth = tuple(read.get("growth", ()))
    return WorkerStart(**{**read, "drawn": _names(read.get("drawn")), "growth": growth})


def _names(read: Any) -> tuple[str, ...] | None:
    return None if read is None else tuple(read)
