"""Every source of randomness of a run: its value, and where that is from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ftlab.records.loader_start import (
    GENERATORS,
    SYSTEM,
    HeldGenerator,
    LoaderStart,
    WorkerStart,
    is_chosen,
)
from ftlab.runlog.parting_cause import NUMPY_DRAWN, loader_starts
from ftlab.runlog.rank_rows import steps_fed_alike
from ftlab.runlog.run_generators import first_training, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ftlab.runlog.run import Run

DAY = 86_400
"""Seconds: a seed that is as near to the time of the start was taken from a clock."""

SEEDS = {"rng_python": "python_seed", "rng_numpy": "numpy_seed"}
"""Generators whose seed was found in their state, and the fact that holds it."""


@dataclass(frozen=True, slots=True)
class Source:
    """One thing that random numbers, data or arithmetic hang on.

    Attributes
    ----------
    name
        Such as ``"torch"``, ``"order of samples"``, ``"worker 1"``.
    value
        In words.
    fixed
        Whether another start of the same code has the same value; ``None`` where
        nothing tells.
    """

    name: str
    value: str
    fixed: bool | None = None


def sources_of(run: Run) -> tuple[Source, ...]:
    """List the sources that a run has recorded.

    Examples
    --------
    >>> from ftlab.records.facts import Facts
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.runlog.seed_chain import sources_of
    >>> run = Run()
    >>> run.append(Facts(training={"randomness": {"torch_seed": 7, "hash_seed": "0"}}))
    >>> for each in sources_of(run):
    ...     print(each.name, "|", each.value)
    torch | seed 7
    Python's hash | PYTHONHASHSEED=0
    """
    training = first_training(run)
    known = training.get("randomness", {})
    found = [*_generators(known), *_process(known), *_trainer(training)]
    found += _processes(run, training)
    return (*found, *_loader(loader_starts(run), torch_is_fixed(known)))


def torch_is_fixed(known: Mapping[str, Any]) -> bool | None:
    """Tell whether torch's seed is the same at another start; ``None`` if unknown.

    One that was drawn is not, and of the time of the start nobody knows.
    """
    seed = known.get("torch_seed")
    if seed is None:
        return None
    if not is_chosen(int(seed)):
        return False
    by_clock = abs(int(seed) - int(known.get("clock", -DAY))) < DAY
    return None if by_clock else True


def _generators(known: Mapping[str, Any]) -> Iterator[Source]:
    fixed = torch_is_fixed(known)
    if "torch_seed" in known:
        clock = ", the time of the start" if fixed is None else ""
        yield Source("torch", f"seed {known['torch_seed']}{clock}", fixed)
    if "cuda_seed" in known:
        seed = int(known["cuda_seed"])
        yield Source("torch on CUDA", f"seed {seed}", fixed and is_chosen(seed))
    for column, name in SEEDS.items():
        if name in known:
            seed = known[name]
            said = "no seed is known" if seed is None else f"seed {seed}"
            yield Source(GENERATORS[column], said, None if seed is None else True)


def _process(known: Mapping[str, Any]) -> Iterator[Source]:
    if known.get("dropout"):
        yield Source("dropout", str(known["dropout"]), torch_is_fixed(known))
    if "hash_seed" in known:
        seed = known["hash_seed"]
        drawn = not seed or seed == "random"
        said = "drawn anew at each start" if drawn else f"PYTHONHASHSEED={seed}"
        yield Source("Python's hash", said, not drawn)
    if "deterministic" in known:
        fixed = bool(known["deterministic"])
        said = "deterministic algorithms" if fixed else "any algorithm"
        said += ", cudnn.benchmark" if known.get("cudnn_benchmark") else ""
        on = known.get("device", "cpu")
        yield Source("kernels", f"{said}, on {on}", fixed or on == "cpu")


def _trainer(training: Mapping[str, Any]) -> Iterator[Source]:
    arguments = training.get("args", {})
    for name in ("seed", "data_seed", "full_determinism"):
        if arguments.get(name):
            yield Source(f"TrainingArguments.{name}", str(arguments[name]), True)
    resumed = training.get("resumed")
    if resumed:
        said = "batches of its epoch that were used are left out"
        if not resumed["skips"]:
            said = "its epoch begins anew (ignore_data_skip)"
        yield Source("resume", f"from step {resumed['step']}; {said}", True)


def _processes(run: Run, training: Mapping[str, Any]) -> Iterator[Source]:
    count = int(training.get("world_size", 1))
    if count > 1:
        alike = steps_fed_alike(run)
        said = f"; all were fed the same rows, in {alike} steps" if alike else ""
        said += ": no sampler divides the dataset among them" if alike else ""
        yield Source("processes", f"{count}{said}", True)


def _loader(starts: list[LoaderStart], torch: bool | None) -> Iterator[Source]:
    if not starts:
        return
    first = starts[0]
    epochs = [each.epoch for each in starts if each.epoch is not None]
    said = _order(first)
    said += f"; set_epoch {', '.join(map(str, epochs))}" if epochs else ""
    yield Source("order of samples", said, order_is_fixed(first, torch))
    if first.contents:
        yield Source("dataset", f"fingerprint {first.contents}")
    for held in first.held:
        yield Source(held.name, _held(held), held_is_fixed(held))
    seed = first.workers_seed
    fixed = torch if seed is None else is_chosen(seed) or None
    for each in first.started:
        yield Source(f"worker {each.worker}", _worker(each), fixed)


def order_is_fixed(start: LoaderStart, torch: bool | None) -> bool | None:
    """Tell whether another start gives out rows in the same order."""
    if start.order in ("stream", "own"):
        return None
    if start.order == "in order":
        return True
    if start.seed is None:
        return torch
    if is_chosen(start.seed):
        return True
    return False if not start.sampler else None  # of a stream, drawn by NumPy


def held_is_fixed(held: HeldGenerator) -> bool | None:
    """Tell whether a generator of the dataset begins the same at another start."""
    if held.seed is None:
        return False if held.kind == SYSTEM else None
    return is_chosen(held.seed)


def _order(start: LoaderStart) -> str:
    drawn = "torch's generator" if start.seed is None else f"seed {start.seed}"
    if start.seed is not None and start.seed >= NUMPY_DRAWN:
        drawn = "no seed of its own"
    return {
        "random": f"random, drawn with {drawn}",
        "stream": "that of the stream",
        "own": f"that of {start.sampler}",
    }.get(start.order, start.order)


def _held(held: HeldGenerator) -> str:
    if held.kind == SYSTEM:
        return "the machine's own, which no seed sets"
    seed = "no seed is known" if held.seed is None else f"seed {held.seed}"
    drawn = held.seed is not None and not is_chosen(held.seed)
    return f"{held.kind}, " + ("no seed was given" if drawn else seed)


def _worker(start: WorkerStart) -> str:
    said = f"seed {start.seed}"
    for seed in dict.fromkeys(start.reseeded.values()):
        names = [n for n, value in start.reseeded.items() if value == seed]
        number = "another number" if seed is None else str(seed)
        said += f"; worker_init_fn seeds {_named(names)} with {number}"
    return said + (f"; draws from {_named(start.drawn)}" if start.drawn else "")


def _named(columns: Iterable[str]) -> str:
    return listed([GENERATORS.get(each, each) for each in columns])
