"""A run against a baseline: ok, worse, different, or not comparable, and why.

Statistics are medians and quantiles, of steps that both have: one slow step or one odd
batch says nothing. What is allowed is in `ALLOWED`, with where each number comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ftlab.records.marked import Marked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ftlab.runlog.baseline import Baseline

    Array = NDArray[np.float64]

MIN_STEPS = 20
"""Common steps from which on medians are compared."""
WARM_UP = 0.1
"""Share of the steps that is left out of times and memory: caches fill, pools grow."""
ALLOWED = {
    "loss": 0.05,
    "loss noise": 2.0,
    "gradients": 2.0,
    "step seconds": 1.3,
    "slow steps": 2.0,
    "throughput": 1.3,
    "memory": 1.2,
    "memory growth": 0.05,
    "checkpoints": 0.0,
}
MiB = 2**20
LEAST_GROWTH = 16 * MiB


def compare_to(
    baseline: Baseline, run: Baseline, allowed: Mapping[str, float] | None = None
) -> tuple[Marked, ...]:
    """Compare a run with a baseline, quantity by quantity.

    Parameters
    ----------
    run
        The run, read as a baseline of as many steps as it has.
    allowed
        In the place of `ALLOWED`, by name.

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
    >>> [each.state for each in compare_to(kept, kept) if each.name == "loss"]
    ['ok']
    """
    limits = ALLOWED | dict(allowed or {})
    common = np.intersect1d(baseline.steps, run.steps)
    one, other = baseline.at(common), run.at(common)
    comparable = _comparable(baseline, run, len(common))
    if comparable.state != "ok":
        return (comparable, *_told(baseline, run))
    found = [comparable, *_told(baseline, run)]
    for name, check in _CHECKS.items():
        found += check(name, one, other, limits[name])
    return tuple(found)


def verdict_of(lines: tuple[Marked, ...]) -> str:
    """Return the worst of the states, in one word."""
    states = {each.state for each in lines}
    order = ("not comparable", "worse", "different")
    return next((each for each in order if each in states), "ok")


def _comparable(baseline: Baseline, run: Baseline, common: int) -> Marked:
    name = "steps"
    if common < MIN_STEPS:
        says = (
            f"{common} steps in common, {MIN_STEPS} are needed: the baseline has "
            f"{_range(baseline)}, the run {_range(run)}"
        )
        return Marked(name, "not comparable", says)
    only = sorted(set(baseline.layers) ^ set(run.layers))
    if only:
        says = f"another model: only one of them has a gradient for {_some(only)}"
        return Marked(name, "not comparable", says)
    return Marked(name, "ok", f"{common} in common", {"run": float(common)})


def _range(of: Baseline) -> str:
    return f"steps {of.steps[0]} to {of.steps[-1]}" if len(of.steps) else "none"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _told(baseline: Baseline, run: Baseline) -> Iterator[Marked]:
    """Compare settings and tokenizer, which are the same or not."""
    for name, one, other in (
        ("settings", baseline.settings, run.settings),
        ("tokenizer", baseline.tokenizer, run.tokenizer),
    ):
        if not one or not other:
            yield Marked(name, "not recorded", f"no {name} in one of them")
            continue
        paths = [p for p in dict.fromkeys([*one, *other]) if one.get(p) != other.get(p)]
        if not paths:
            yield Marked(name, "ok", "the same")
        elif name == "tokenizer":
            yield Marked(name, "different", f"other {_some(paths)}")
        else:
            words = (
                f"{path.rpartition('/')[2]} {one.get(path, 'not set')}, now "
                f"{other.get(path, 'not set')}"
                for path in paths
            )
            yield Marked(name, "different", _some(list(dict.fromkeys(words))))


def _loss(name: str, one: Baseline, other: Baseline, limit: float) -> Iterator[Marked]:
    """Compare the losses of the second half, step by step."""
    before, now = one.columns["loss"], other.columns["loss"]
    bad = [
        int((~np.isfinite(v) & ~_skipped(of)).sum())
        for v, of in ((before, one), (now, other))
    ]
    if bad[1] > bad[0]:
        yield Marked(name, "worse", f"{bad[1]} losses are not finite, before {bad[0]}")
        return
    half = len(now) // 2
    level = _median(before[half:])
    shift = _median((now - before)[half:])
    if not np.isfinite(shift):
        yield Marked(name, "not recorded", "no loss in one of them")
        return
    allowed = max(limit * level, 0.0)
    says = f"{level:.4g}, now {level + shift:.4g}"
    numbers = {"baseline": level, "run": level + shift, "allowed": level + allowed}
    yield Marked(name, "worse" if shift > allowed else "ok", says, numbers)


def _skipped(of: Baseline) -> NDArray[np.bool_]:
    return np.asarray(of.columns["skipped"] == 1, bool)


def _noise(name: str, one: Baseline, other: Baseline, limit: float) -> Iterator[Marked]:
    """Compare how much the loss varies from step to step, whatever its trend."""
    before, now = (_mad(np.diff(each.columns["loss"])) for each in (one, other))
    yield _ratio(name, before, now, limit, both=True)


def _gradients(
    name: str, one: Baseline, other: Baseline, limit: float
) -> Iterator[Marked]:
    """Compare the norm of each layer's gradient, step by step."""
    with np.errstate(all="ignore"):
        ratios = {
            layer: float(np.exp(_median(np.log(other.layers[layer] / values))))
            for layer, values in one.layers.items()
        }
    known = {layer: each for layer, each in ratios.items() if each == each}
    if not known:
        yield Marked(name, "not recorded", "no gradients in one of them")
        return
    apart = {n: r for n, r in known.items() if not 1 / limit <= r <= limit}
    furthest = max(
        known, key=lambda n: abs(np.log(known[n])) if known[n] > 0 else np.inf
    )
    numbers = {"baseline": 1.0, "run": known[furthest], "allowed": limit}
    if not apart:
        says = f"{len(known)} layers, furthest {furthest} at {known[furthest]:.2f} x"
        yield Marked(name, "ok", says, numbers)
        return
    words = [f"{layer} {ratio:.2f} x" for layer, ratio in apart.items()]
    yield Marked(name, "different", _some(words), numbers)


def _quantile(
    column: str, share: float, unit: str, *, less: bool = False
) -> Callable[[str, Baseline, Baseline, float], Iterator[Marked]]:
    """Make a comparison of one column's quantile; ``less`` is what is worse."""

    def check(
        name: str, one: Baseline, other: Baseline, limit: float
    ) -> Iterator[Marked]:
        before, now = (
            float(np.nanquantile(v, share))
            if len(v := _warm(each.columns[column]))
            else np.nan
            for each in (one, other)
        )
        yield _ratio(name, before, now, limit, unit=unit, less=less)

    return check


def _ratio(
    name: str,
    before: float,
    now: float,
    limit: float,
    *,
    unit: str = "",
    less: bool = False,
    both: bool = False,
) -> Marked:
    if not (np.isfinite(before) and np.isfinite(now) and before > 0):
        return Marked(name, "not recorded", "in one of them")
    ratio = now / before
    worse = ratio < 1 / limit if less else ratio > limit
    numbers = {"baseline": before, "run": now, "allowed": before * limit}
    if less:
        numbers["allowed"] = before / limit
    says = f"{_with(before, unit)}, now {_with(now, unit)}, {ratio:.2f} x"
    if both and ratio < 1 / limit:
        return Marked(name, "different", says, numbers)
    return Marked(name, "worse" if worse else "ok", says, numbers)


def _growth(
    name: str, one: Baseline, other: Baseline, limit: float
) -> Iterator[Marked]:
    """Compare by how much memory grows over the steps, beyond the first ones."""
    before, now = (rise(each.steps, each.columns["memory"]) for each in (one, other))
    if not (np.isfinite(before) and np.isfinite(now)):
        yield Marked(name, "not recorded", "measured less than twice in one of them")
        return
    level = _median(one.columns["memory"])
    allowed = before + max(limit * level, LEAST_GROWTH)
    numbers = {"baseline": before, "run": now, "allowed": allowed}
    steps = int(one.steps[-1] - one.steps[0] + 1)
    says = f"{before / MiB:+.0f} MiB, now {now / MiB:+.0f} MiB over {steps} steps"
    yield Marked(name, "worse" if now > allowed else "ok", says, numbers)


def rise(steps: NDArray[np.int64], values: Array) -> float:
    """Return how much values rise over all steps, by the median of slopes.

    As Theil and Sen, with the pairs that are half of all values apart: what jumps up
    and comes back counts nothing. The first tenth is left out; NaN is no value.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.runlog.baseline_comparison import rise
    >>> rise(np.arange(6), np.array([0.0, 1.0, 2.0, 30.0, 4.0, 5.0]))
    5.0
    """
    warm = np.isfinite(values)
    warm[: int(np.ceil(WARM_UP * len(values)))] = False
    x, y = steps[warm], values[warm]
    half = (len(x) + 1) // 2
    if len(x) < 2:
        return float("nan")
    slopes = (y[half:] - y[: len(y) - half]) / (x[half:] - x[: len(x) - half])
    return float(np.median(slopes)) * float(steps[-1] - steps[0])


def _saves(name: str, one: Baseline, other: Baseline, limit: float) -> Iterator[Marked]:
    """Compare how many saves were read back as they were written."""
    (tried, whole), (tried_now, whole_now) = one.checkpoints, other.checkpoints
    if not tried_now:
        lacks = "none was saved" + (f", before {tried}" if tried else "")
        yield Marked(name, "worse" if tried else "not recorded", lacks)
        return
    share = whole / tried if tried else 1.0
    now = whole_now / tried_now
    says = f"{whole_now} of {tried_now} verified" + (
        f", before {whole} of {tried}" if tried else ""
    )
    numbers = {"baseline": share, "run": now, "allowed": share - limit}
    yield Marked(name, "worse" if now < share - limit else "ok", says, numbers)


def _warm(values: Array) -> Array:
    values = values[int(np.ceil(WARM_UP * len(values))) :]
    return values[np.isfinite(values)]


def _median(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")


def _mad(values: Array) -> float:
    return _median(np.abs(values - _median(values)))


def _with(value: float, unit: str) -> str:
    if unit == "ms":
        return f"{1e3 * value:.3g} ms"
    return f"{value / MiB:.4g} MiB" if unit == "MiB" else f"{value:.3g}{unit}"


_CHECKS: dict[str, Callable[[str, Baseline, Baseline, float], Iterator[Marked]]] = {
    "loss": _loss,
    "loss noise": _noise,
    "gradients": _gradients,
    "step seconds": _quantile("seconds", 0.5, "ms"),
    "slow steps": _quantile("seconds", 0.95, "ms"),
    "throughput": _quantile("tokens_per_second", 0.5, " tokens/s", less=True),
    "memory": _quantile("memory", 0.95, "MiB"),
    "memory growth": _growth,
    "checkpoints": _saves,
}
