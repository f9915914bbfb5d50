"""Every source of randomness of a run: its value, and where that is from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ftlab.records.loader_start import LoaderStart
from ftlab.runlog.parting_cause import loader_starts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ftlab.runlog.run import Run


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
    history = run.facts_history
    training = history[0].training if history else {}
    found = [*_process(training.get("randomness", {})), *_trainer(training)]
    return (*found, *_loader(loader_starts(run)))


def _process(known: Mapping[str, Any]) -> Iterator[Source]:
    if "torch_seed" in known:
        yield Source("torch", f"seed {known['torch_seed']}", _is_set(known))
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


def _is_set(known: Mapping[str, Any]) -> bool | None:
    """Tell a seed that somebody chose from one that torch has drawn: 64 bits wide."""
    return None if int(known["torch_seed"]) < 1 << 32 else False


def _trainer(training: Mapping[str, Any]) -> Iterator[Source]:
    arguments = training.get("args", {})
    if "seed" in arguments:
        yield Source("TrainingArguments.seed", str(arguments["seed"]), True)
    if "data_seed" in arguments:
        yield Source("TrainingArguments.data_seed", str(arguments["data_seed"]), True)
    if int(training.get("world_size", 1)) > 1:
        yield Source("processes", str(training["world_size"]), True)


def _loader(starts: list[LoaderStart]) -> Iterator[Source]:
    if not starts:
        return
    first = starts[0]
    drawn = "torch's generator" if first.seed is None else f"seed {first.seed}"
    said = {
        "random": f"random, drawn with {drawn}",
        "stream": "that of the stream",
        "own": f"that of {first.sampler}",
    }.get(first.order, first.order)
    epochs = [each.epoch for each in starts if each.epoch is not None]
    said += f"; set_epoch {', '.join(map(str, epochs))}" if epochs else ""
    yield Source("order of samples", said, first.order == "in order" or None)
    for each in first.started:
        yield Source(f"worker {each.worker}", f"seed {each.seed}")
