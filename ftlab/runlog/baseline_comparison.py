"""A run against a baseline, quantity by quantity: as good, worse, or another one.

Statistics are medians and quantiles, of steps that both have: one slow step or one odd
batch says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ftlab.records.outcome import Outcome, State
from ftlab.runlog.baseline import GRADIENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ftlab.runlog.baseline import Array, Baseline

    Columns = dict[str, Array]
    Pair = tuple[float, float, str]

NO_WORSE, SAME = "no worse than the baseline", "as in the baseline"
"""What must hold: where it does not, a run is worse, or different."""
MIN_STEPS = 20
"""Common steps from which on medians are compared."""
WARM_UP = 10
"""One step of so many, the first ones, is left out of times and memory."""
ALLOWED = {
    "loss": 1.03,
    "finite losses": 1.0,
    "loss noise": 2.0,
    "gradients": 2.0,
    "step seconds": 1.5,
    "slow steps": 2.0,
    "throughput": 1.5,
    "memory": 1.2,
    "memory growth": 1.05,
    "checkpoints": 1.0,
}
"""By what factor a run may be off its baseline.

Twice, at least, what nine healthy runs of one set-up were apart: a tiny Llama with LoRA
and dropout, 200 steps of a Trainer, one seed three times and six others, on two cores
with up to seven other processes. Loss of the second half within 0.5 %, its noise 0.75
to 1.34, gradients of a layer 0.86 to 1.16, memory within 0.3 %, growth within 2 MiB of
580. Median seconds 0.75 to 1.33, the slowest twentieth 0.70 to 1.43; with the wait for
a processor in them the median was 0.26 to 3.9. One seed gave the same losses.
"""


def compare_to(
    baseline: Baseline, run: Baseline, allowed: Mapping[str, float] | None = None
) -> tuple[Outcome, ...]:
    """Compare a run, read as a baseline, with a baseline.

    Parameters
    ----------
    allowed
        Factors in the place of `ALLOWED`, by name.

    Examples
    --------
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.baseline import baseline_of
    >>> from ftlab.runlog.baseline_comparison import compare_to
    >>> from ftlab.runlog.run import Run
    >>> run = Run()
    >>> for step in range(40):
    ...     run.append(StepRecord(step=step, time=0.0, loss=2.5))
    >>> kept = baseline_of(run)
    >>> [each.says for each in compare_to(kept, kept) if each.name == "loss"]
    ['2.5, now 2.5, 1.00 x']
    """
    steps = np.intersect1d(baseline.steps, run.steps)
    one, other = baseline.at(steps), run.at(steps)
    told = [
        _same_settings("settings", baseline.settings, run.settings),
        _same_settings("tokenizer", baseline.tokenizer, run.tokenizer),
    ]
    only = sorted(each for each in set(one) ^ set(other))
    why = f"only one has the {only[0]}: another model" if only else ""
    if len(steps) < MIN_STEPS:
        why = f"{len(steps)} steps in common, {MIN_STEPS} are needed"
    state: State = "cannot be decided" if why else "holds"
    told.insert(0, Outcome("", "steps", SAME, state, why or f"{len(steps)} in common"))
    limits = ALLOWED | dict(allowed or {})
    pairs = {"checkpoints": [(baseline.checkpoints, run.checkpoints, "")]}
    pairs |= {} if why else _pairs(one, other, steps)
    return (*told, *(_judged(n, pairs.get(n, []), limits[n]) for n in ALLOWED))


def verdict_of(lines: tuple[Outcome, ...]) -> str:
    """Return ``"ok"``, ``"worse"``, ``"different"`` or ``"not comparable"``."""
    if any(each.state == "cannot be decided" for each in lines):
        return "not comparable"
    broken = {each.relation for each in lines if each.state == "broken"}
    return "worse" if NO_WORSE in broken else "different" if broken else "ok"


def _same_settings(
    name: str, one: Mapping[str, str], other: Mapping[str, str]
) -> Outcome:
    """Compare what is the same or not; the same change of two settings is told once."""
    if not one or not other:
        return Outcome("", name, SAME, "does not apply", "not recorded in both")
    paths = [p for p in {**one, **other} if one.get(p) != other.get(p)]
    changes: dict[tuple[str, str], str] = {}
    for path in sorted(paths, key=lambda each: not each.startswith("args/")):
        values = one.get(path, "not set"), other.get(path, "not set")
        changes.setdefault(values, path.rpartition("/")[2])
    words = [
        what if name == "tokenizer" else f"{what} {before}, now {now}"
        for (before, now), what in changes.items()
    ]
    state: State = "broken" if words else "holds"
    return Outcome("", name, SAME, state, _some(words) or "the same")


def _pairs(
    one: Columns, other: Columns, steps: NDArray[np.int64]
) -> dict[str, list[Pair]]:
    """Return each quantity of both, what it is of, and the unit by which it is told."""
    half, warm = len(steps) // 2, -(-len(steps) // WARM_UP)

    def both(column: str, share: float, scale: float) -> list[Pair]:
        values = (each[column][warm:] for each in (one, other))
        before, now = (_quantile(each, share) * scale for each in values)
        return [(before, now, "")]

    before = one["loss"][half:]
    level, shift = _quantile(before), _quantile(other["loss"][half:] - before)
    noise = (np.diff(each["loss"]) for each in (one, other))
    quiet, noisy = (_quantile(np.abs(each - _quantile(each))) for each in noise)
    finite = [float(np.isfinite(each["loss"]).mean()) for each in (one, other)]
    grown = [1 + rise(steps[warm:], e["memory"][warm:]) for e in (one, other)]
    return {
        "loss": [(level, level + shift, "")],
        "finite losses": [(finite[0], finite[1], "")] if max(finite) else [],
        "loss noise": [(quiet, noisy, "")],
        "gradients": list(_gradients(one, other)),
        "step seconds": both("seconds", 0.5, 1),
        "slow steps": both("seconds", 0.95, 1),
        "throughput": both("tokens_per_second", 0.5, 1),
        "memory": both("memory", 0.95, 1 / 2**20),
        "memory growth": [(grown[0], grown[1], "")],
    }


def _gradients(one: Columns, other: Columns) -> Iterator[Pair]:
    """Compare the norm of each layer's gradient, step by step."""
    for name in [each for each in one if each.startswith(GRADIENT)]:
        with np.errstate(all="ignore"):
            ratio = math.exp(_quantile(np.log(other[name] / one[name])))
        yield 1.0, ratio, name.removeprefix(GRADIENT)


def rise(steps: NDArray[np.int64], values: Array) -> float:
    """Return by what share of themselves values rise, by the median of slopes.

    As Theil and Sen, with the pairs that are half of all values apart: what jumps up
    and comes back counts nothing. NaN is no value.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.runlog.baseline_comparison import rise
    >>> round(rise(np.arange(6), np.array([10.0, 11.0, 30.0, 13.0, 14.0, 15.0])), 3)
    0.37
    """
    x, y = steps[np.isfinite(values)], values[np.isfinite(values)]
    half = (len(x) + 1) // 2
    if len(x) < 2:
        return math.nan
    slopes = (y[half:] - y[: len(y) - half]) / (x[half:] - x[: len(x) - half])
    return float(np.median(slopes)) * float(steps[-1] - steps[0]) / _quantile(y)


def _quantile(values: Array, share: float = 0.5) -> float:
    finite = values[np.isfinite(values)]
    return float(np.quantile(finite, share)) if len(finite) else math.nan


def _judged(name: str, pairs: list[Pair], limit: float) -> Outcome:
    """Hold each pair against the factor that is allowed, in the way that is worse."""
    relation = SAME if name in ("loss noise", "gradients") else NO_WORSE
    more = name in ("throughput", "finite losses", "checkpoints")
    known = [(a, b, of) for a, b, of in pairs if a > 0 and math.isfinite(b)]
    if not known:
        return Outcome("", name, relation, "does not apply", "not recorded in both")

    def off(pair: Pair) -> float:
        ratio = pair[1] / pair[0] if pair[1] > 0 else 1e-9
        both = max(ratio, 1 / ratio)
        return both if relation is SAME else 1 / ratio if more else ratio

    bad = [pair for pair in known if off(pair) > limit * (1 + 1e-9)]
    furthest = max(known, key=off)
    numbers = {"baseline": furthest[0], "run": furthest[1], "allowed": limit}
    words = [
        f"{of} {b / a:.2f} x" if of else f"{a:.4g}, now {b:.4g}, {b / a:.2f} x"
        for a, b, of in bad or [furthest]
    ]
    state: State = "broken" if bad else "holds"
    return Outcome("", name, relation, state, _some(words), evidence=numbers)


def _some(words: list[str]) -> str:
    more = f" and {len(words) - 3} more" if len(words) > 3 else ""
    return ", ".join(words[:3]) + more
