"""A run against a baseline, quantity by quantity: as good, worse, or another one.

By medians and quantiles of steps that both have: one slow step or odd batch says
nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ftlab.records.name_words import listed
from ftlab.records.outcome import Outcome, State
from ftlab.records.sizes import size
from ftlab.runlog.baseline import GRADIENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ftlab.runlog.baseline import Array, Baseline

    Pair = tuple[float, float, str]

NO_WORSE, SAME = "no worse than the baseline", "as in the baseline"
"""What must hold: where it does not, a run is worse, or different."""
MIN_STEPS = 20
ALLOWED = {
    "rows per step": 1.0,
    "tokens per step": 3.0,
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

Beyond what nine healthy runs of one set-up were apart: a tiny Llama with LoRA and
dropout, 200 steps of a Trainer, one seed three times and six others, on two cores with
up to seven other processes. Loss of the second half within 0.5 %, its noise 0.75 to
1.34, gradients of a layer 0.86 to 1.16, memory within 0.3 %, its growth within 0.3 %;
median seconds 0.75 to 1.33, the slowest twentieth 0.70 to 1.43, and with the wait for a
processor in them the median 0.26 to 3.9. One seed gave the same losses.
Tokens: medians of 20 batches of one row each, whose lengths are lognormal with a
deviation of 1, are further apart in one of 180 pairs.
"""


_WRITTEN = {
    "step seconds": "{0:.3g} s",
    "slow steps": "{0:.3g} s",
    "throughput": "{0:.4g} tokens/s",
    "memory growth": "{1:+.1%}",
}
_ALONE = 3
"""How many times as deep as any other a fall is that says nothing of a rise."""
_EITHER_WAY = ("rows per step", "tokens per step", "loss noise", "gradients")
_LOOK = dict.fromkeys(("step seconds", "slow steps", "throughput"), "time")
_LOOK |= {"memory": "memory", "memory growth": "findings"}


def compare_to(
    baseline: Baseline, run: Baseline, allowed: Mapping[str, float] | None = None
) -> tuple[Outcome, ...]:
    """Compare a run, read as a baseline; ``allowed`` replaces `ALLOWED` by name."""
    steps = np.intersect1d(baseline.steps, run.steps)
    one, other = baseline.at(steps), run.at(steps)
    layers = sorted(n for n in {*one} ^ {*other} if GRADIENT in n)
    why = f"only one has the {layers[0]}: another model" if layers else ""
    missing = dict.fromkeys({**one, **other}, np.full(len(steps), np.nan))
    one, other = missing | one, missing | other  # a file of an earlier version
    if len(steps) < MIN_STEPS:
        why = f"{len(steps)} steps in common, {MIN_STEPS} are needed"
    state: State = "cannot be decided" if why else "holds"
    pairs = {"checkpoints": [(baseline.checkpoints, run.checkpoints, "")]}
    pairs |= {} if why else _pairs(one, other, steps)
    limits = ALLOWED | dict(allowed or {})
    return (
        Outcome("", "steps", SAME, state, why or f"{len(steps)} in common"),
        _same("settings", baseline.settings, run.settings),
        _same("tokenizer", baseline.tokenizer, run.tokenizer),
        *(_judged(name, pairs.get(name, []), limits[name], why) for name in ALLOWED),
    )


def verdict_of(lines: tuple[Outcome, ...]) -> str:
    """Return ``"ok"``, ``"worse"``, ``"different"`` or ``"not comparable"``."""
    if any(each.state == "cannot be decided" for each in lines):
        return "not comparable"
    broken = {each.relation for each in lines if each.state == "broken"}
    return "worse" if NO_WORSE in broken else "different" if broken else "ok"


def _same(name: str, one: Mapping[str, str], other: Mapping[str, str]) -> Outcome:
    """Compare what is the same or not; the same change of two settings is told once."""
    if not one or not other:
        return Outcome("", name, SAME, "does not apply", "not recorded in both")
    changes: dict[str, str] = {}
    for path in sorted({**one, **other}, key=lambda each: not each.startswith("args/")):
        before, now = one.get(path, "not set"), other.get(path, "not set")
        if before != now:
            change = path if name == "tokenizer" else f"{before}, now {now}"
            changes.setdefault(change, path.rpartition("/")[2])
    words = [n if n == change else f"{n} {change}" for change, n in changes.items()]
    return Outcome(
        "", name, SAME, "broken" if words else "holds", listed(words, 3) or "same"
    )


def _pairs(
    one: dict[str, Array], other: dict[str, Array], steps: NDArray[np.int64]
) -> dict[str, list[Pair]]:
    """Return each quantity of both, and what it is of where there are several.

    A tenth of the steps, the first ones, is left out of times and memory.
    """
    half, warm = len(steps) // 2, -(-len(steps) // 10)

    def both(column: str, share: float) -> list[Pair]:
        before, now = (_quantile(e[column][warm:], share) for e in (one, other))
        return [(before, now, "")]

    before = one["loss"][half:]
    level, shift = _quantile(before), _quantile(other["loss"][half:] - before)
    now = level + shift if math.isfinite(level) else _quantile(other["loss"][half:])
    noise = (np.diff(each["loss"]) for each in (one, other))
    quiet, noisy = (_quantile(np.abs(each - _quantile(each))) for each in noise)
    finite = [float(np.isfinite(each["loss"]).mean()) for each in (one, other)]
    grown = [1 + rise(steps[warm:], e["idle"][warm:]) for e in (one, other)]
    with np.errstate(all="ignore"):
        ratios = {n: np.log(other[n] / v) for n, v in one.items() if GRADIENT in n}
    return {
        "rows per step": both("rows", 0.5),
        "tokens per step": both("tokens", 0.5),
        "loss": [(level, now, "")],
        "finite losses": [(finite[0], finite[1], "")] if max(finite) else [],
        "loss noise": [(quiet, noisy, "")],
        "gradients": [
            (1.0, math.exp(_quantile(ratio)), name.removeprefix(GRADIENT))
            for name, ratio in ratios.items()
        ],
        "step seconds": both("seconds", 0.5),
        "slow steps": both("seconds", 0.95),
        "throughput": both("tokens_per_second", 0.5),
        "memory": both("memory", 0.95),
        "memory growth": [(grown[0], grown[1], "")],
    }


def rise(steps: NDArray[np.int64], values: Array) -> float:
    """Return by what share values rise: the median slope of pairs, as Theil and Sen.

    The pairs are half of all values apart: what comes back counts nothing. Nor does one
    fall that no other comes near, as where an older model is freed.
    """
    x, y = steps[np.isfinite(values)], values[np.isfinite(values)]
    half = (len(x) + 1) // 2
    if len(x) < 3:
        return math.nan
    changes = np.diff(y)
    deepest, second = np.sort(changes)[:2]
    if deepest < _ALONE * min(second, 0.0):
        y[np.argmin(changes) + 1 :] -= deepest
    slopes = (y[half:] - y[: len(y) - half]) / (x[half:] - x[: len(x) - half])
    return float(np.median(slopes)) * float(steps[-1] - steps[0]) / _quantile(y)


def _quantile(values: Array, share: float = 0.5) -> float:
    finite = values[np.isfinite(values)]
    return float(np.quantile(finite, share)) if len(finite) else math.nan


def _lacking(name: str, pairs: list[Pair]) -> str:
    """Say why there is nothing to compare."""
    sides = {"the baseline": [p[0] for p in pairs], "the run": [p[1] for p in pairs]}
    empty = [side for side, told in sides.items() if not any(map(math.isfinite, told))]
    if not empty:
        return "0 or less in the baseline"
    what = "finite values among the compared steps"
    return f"no {'saves' if name == 'checkpoints' else what} of {' and '.join(empty)}"


def _judged(name: str, pairs: list[Pair], limit: float, why: str) -> Outcome:
    """Hold each pair against the factor that is allowed, in the way that is worse."""
    relation = SAME if name in _EITHER_WAY else NO_WORSE
    more = name in ("throughput", "finite losses", "checkpoints")
    known = [(a, b, of) for a, b, of in pairs if a > 0 and math.isfinite(b)]
    if not known:
        says = _lacking(name, pairs) if pairs or not why else why
        return Outcome("", name, relation, "does not apply", says)

    def off(pair: Pair) -> float:
        ratio = pair[1] / pair[0] if pair[1] > 0 else 1e-9
        both = max(ratio, 1 / ratio)
        return both if relation is SAME else 1 / ratio if more else ratio

    def told(value: float) -> str:
        written = _WRITTEN.get(name, "{0:.4g}").format(value, value - 1)
        return size(value) if name == "memory" else written

    bad = [pair for pair in known if off(pair) > limit * (1 + 1e-9)]
    furthest = max(known, key=off)
    numbers = {"baseline": furthest[0], "run": furthest[1], "allowed": limit}
    words = [
        f"{of} {b / a:.2f} x" if of else f"{told(a)}, now {told(b)}, {b / a:.2f} x"
        for a, b, of in bad or [furthest]
    ]
    state: State = "broken" if bad else "holds"
    says, fix = listed(words, 3), ""
    if bad:
        says += f" ({1 / limit if more else limit:.3g} x is allowed)"
        fix = f"Look at .{_LOOK.get(name, 'findings')} of this run."
    return Outcome("", name, relation, state, says, fix=fix, evidence=numbers)
