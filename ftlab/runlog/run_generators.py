"""Where the generators of random numbers stood in a run, and which were drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab.records.loader_start import GENERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ftlab.runlog.run import Run


def first_training(run: Run) -> Mapping[str, Any]:
    """Return what was read of the training when the run began."""
    history = run.facts_history[:1]
    return history[0].training if history else {}


def randomness_of(run: Run) -> Mapping[str, Any]:
    """Return what was read of seeds and generators when the run began."""
    return dict(first_training(run).get("randomness", {}))


def generators_apart(left: Run, right: Run, step: int) -> Iterator[str]:
    """Say whose generators differed before a step."""
    one, other = (_generators(run, step) for run in (left, right))
    names = [
        GENERATORS[name]
        for name, value in one.items()
        if other.get(name, value) != value
        if any(_draws(run, name, step) for run in (left, right))
    ]
    if names:
        where = f"behind step {step - 1}" if step else "when the run began"
        yield f"random numbers of {listed(names)} stood elsewhere {where}"


def _generators(run: Run, step: int) -> Mapping[str, float]:
    table = run.steps
    before = np.flatnonzero(table.step < step)
    if len(before):
        known = {n: float(table[n][before[-1]]) for n in GENERATORS if n in table}
        return {name: value for name, value in known.items() if not np.isnan(value)}
    return dict(randomness_of(run).get("rng", {}))


def _draws(run: Run, name: str, step: int) -> bool:
    """Tell whether a generator was drawn from up to a step."""
    table = run.steps
    if name not in table:
        return False
    begun = randomness_of(run).get("rng", {}).get(name)
    known = [*([] if begun is None else [begun]), *table[name][table.step <= step]]
    return len(set(known)) > 1


def listed(names: list[str]) -> str:
    """Join names into a phrase.

    Examples
    --------
    >>> from ftlab.runlog.run_generators import listed
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
