"""Since which step two runs differ, and in what first.

Equality is of bits. Within a step what comes first is asked first: the samples, what
else the model was fed, the learning rates, the loss, the gradients, and where the
generators of random numbers stand behind it, if either run has drawn from them. What
it hangs on: `ftlab.runlog.parting_cause`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab.records.loader_start import GENERATORS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ftlab.runlog.run import Run

SAMPLES = "samples"
"""The table of the samples that a step was fed."""

IDS, OTHERS = "the samples", "labels or other inputs"
DRAWN = {name: f"random numbers of {of}" for name, of in GENERATORS.items()}
RATES, LOSS, GRADIENTS = "the learning rates", "the loss", "the gradients"

_FED = {"ids": IDS, "others": OTHERS}
_MADE = {"loss": LOSS, "grad_norm": GRADIENTS}


@dataclass(frozen=True, slots=True)
class Parting:
    """One quantity, and where it is first another one.

    Attributes
    ----------
    what
        In words: `IDS`, `LOSS`, ...
    step
        -1 where it is the same throughout.
    sample
        Micro-batch and row of the first sample that differs; ``None`` for what does not
        go by sample.
    """

    what: str
    step: int = -1
    sample: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs, bit by bit.

    Attributes
    ----------
    steps
        That both have.
    partings
        One for each quantity that both have, in the order in which a step makes them.
    """

    steps: int
    partings: tuple[Parting, ...] = ()

    @property
    def first(self) -> Parting | None:
        """The first parting, in steps and then within a step; ``None`` if none.

        Where a generator stands behind a step is read when the next one begins, and a
        loader that ends there has drawn by then: other samples of the next step come
        before it.
        """
        parted = [each for each in self.partings if each.step >= 0]
        first = min(parted, key=lambda each: each.step, default=None)
        if first is None or first.what not in DRAWN.values():
            return first
        fed = [p for p in parted if p.sample is not None and p.step == first.step + 1]
        return fed[0] if fed else first


def compare_runs(left: Run, right: Run) -> RunComparison:
    """Compare two runs at the steps that both have.

    Examples
    --------
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.run_comparison import compare_runs
    >>> from ftlab.runlog.run import Run
    >>> one, other = Run(), Run()
    >>> for run, loss in ((one, 2.5), (other, 2.25)):
    ...     run.append(StepRecord(step=0, time=0.0, loss=loss))
    >>> compare_runs(one, other).first
    Parting(what='the loss', step=0, sample=None)
    """
    steps = np.intersect1d(left.steps.step, right.steps.step)
    found = [_of_samples(left, right, steps, *each) for each in _FED.items()]
    columns = {"lr": RATES} | _MADE
    found += [_of_steps(left, right, steps, *each) for each in columns.items()]
    found += [_of_draws(left, right, steps, *each) for each in DRAWN.items()]
    return RunComparison(len(steps), tuple(each for each in found if each is not None))


def _of_samples(
    left: Run, right: Run, steps: NDArray[np.int64], column: str, what: str
) -> Parting | None:
    """Find the first step whose rows differ, and the first of them."""
    one, other = (rows_by_place(run, steps, column) for run in (left, right))
    if not one or not other:
        return None
    blank = np.full(len(steps), np.nan, np.float32)
    found = [
        (int(unlike.argmax()), place)
        for place in sorted({*one, *other})
        if (unlike := _unlike(one.get(place, blank), other.get(place, blank))).any()
    ]
    if not found:
        return Parting(what)
    line, place = min(found)
    return Parting(what, int(steps[line]), place)


def rows_by_place(
    run: Run, steps: NDArray[np.int64], column: str
) -> dict[tuple[int, int], NDArray[np.float32]]:
    """Return the digests of each row at some steps, by micro-batch and row.

    Steps are in ascending order. NaN where a step has no such row; empty where the run
    has none at all.
    """
    if SAMPLES not in run.tables() or not len(steps):
        return {}
    first, last = int(steps[0]), int(steps[-1])
    matrix = run.matrix(column, SAMPLES, start=first, stop=last + 1)
    if not len(matrix.steps):
        return {}
    lines = np.searchsorted(matrix.steps, steps).clip(max=len(matrix.steps) - 1)
    there = matrix.steps[lines] == steps
    places = {
        number: (int(each.meta["micro_batch"]), int(each.meta["row"]))
        for number, each in run.names(SAMPLES).items()
    }
    return {
        places[number]: np.where(there, matrix.values[lines, at], np.nan)
        for at, number in enumerate(matrix.ids.tolist())
    }


def _of_steps(
    left: Run, right: Run, steps: NDArray[np.int64], name: str, what: str
) -> Parting | None:
    known = (np.isfinite(r.steps[name]).any() for r in (left, right) if name in r.steps)
    if sum(known) < 2:
        return None
    one, other = (
        run.steps[name][np.isin(run.steps.step, steps)] for run in (left, right)
    )
    unlike = steps[_unlike(one, other)]
    return Parting(what, int(unlike[0])) if len(unlike) else Parting(what)


def _of_draws(
    left: Run, right: Run, steps: NDArray[np.int64], name: str, what: str
) -> Parting | None:
    """Find the first step in which one run draws, and the other does not so.

    Two generators that began elsewhere, and are drawn from alike, have parted before:
    what was made with them tells.
    """
    if not all(name in run.steps for run in (left, right)):
        return None
    states = [run.steps[name][np.isin(run.steps.step, steps)] for run in (left, right)]
    if not all(np.isfinite(each).any() for each in states):
        return None
    one, other = (
        np.concatenate([[_begun(run, name, each)], each])
        for run, each in zip((left, right), states, strict=True)
    )
    moved = [_unlike(each[1:], each[:-1]) for each in (one, other)]
    alike = ~_unlike(one[:-1], other[:-1])
    parted = (moved[0] != moved[1]) | (alike & moved[0] & _unlike(one[1:], other[1:]))
    unlike = steps[parted]
    return Parting(what, int(unlike[0])) if len(unlike) else Parting(what)


def _begun(run: Run, name: str, states: NDArray[Any]) -> float:
    """Return where a generator stood before the first step, as far as it is known."""
    facts = next(iter(run.facts_history), None)
    known = {} if facts is None else facts.training.get("randomness", {}).get("rng", {})
    return float(known.get(name, states[0]))


def _unlike(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell at which steps two columns differ; NaN is as NaN."""
    if one.shape != other.shape:  # of several rates, in another number of groups
        return np.ones(len(one), bool)
    differ = (one != other) & ~(np.isnan(one) & np.isnan(other))
    return np.asarray(differ if differ.ndim == 1 else differ.any(1))
