"""The learning rates that a schedule was asked for, computed from its formula.

A second, plain writing of what transformers and torch compute step by step, so that the
rates of a run can be compared with those that its schedule stands for.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rates: TypeAlias = NDArray[np.float64]
Asked: TypeAlias = Mapping[str, Any]


def asked_rates(
    scheduler: Mapping[str, Any], base_rates: Sequence[float], steps: int
) -> Rates | None:
    """Compute the rates of each group at the steps 0 to ``steps - 1`` of a schedule.

    Parameters
    ----------
    scheduler
        One entry of `ftlab.records.facts.Facts.schedulers`.
    base_rates
        What the schedule starts from, for each group: ``base_lrs``.

    Returns
    -------
    array of shape (steps, groups)
        NaN where the schedule has no such step (OneCycleLR after its end); ``None``
        where the formula is not known: a function of the user's, what depends on a
        metric, a chain of schedulers.

    Examples
    --------
    >>> from ftlab.records.rate_formulas import asked_rates
    >>> halves = {"class": "StepLR", "asked": {"step_size": 2, "gamma": 0.5}}
    >>> asked_rates(halves, [1.0], 5)[:, 0].tolist()
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    asked = dict(scheduler.get("asked") or {}) | {"class": scheduler.get("class")}
    time = np.arange(steps, dtype=np.float64)
    with np.errstate(all="ignore"):
        return _rates(asked, np.asarray(base_rates, dtype=np.float64), time)


def _rates(asked: Asked, base: Rates, time: Rates) -> Rates | None:
    kind = asked.get("class")
    if kind == "SequentialLR":
        return _one_after_another(asked, base, time)
    name = asked.get("schedule") if kind == "LambdaLR" else kind
    try:
        if name == "OneCycleLR":
            return _one_cycle(asked, base, time)
        if formula := _FACTORS.get(str(name)):
            factor = formula(asked, time)[:, np.newaxis]
            lowest = float(asked.get("eta_min", 0.0))
            return lowest + (base - lowest) * factor
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    return None


def _one_after_another(asked: Asked, base: Rates, time: Rates) -> Rates | None:
    """Each schedule begins anew at its milestone."""
    schedules, milestones = asked.get("schedulers") or (), asked.get("milestones") or ()
    which = np.searchsorted(milestones, time, side="right")
    rates = np.empty((len(time), len(base)))
    for index, each in enumerate(schedules):
        mine = which == index
        start = milestones[index - 1] if index else 0
        own = np.asarray(each.get("base_lrs", base), dtype=np.float64)
        found = _rates(each, own, time[mine] - start)
        if found is None or found.shape[1] != len(base):
            return None
        rates[mine] = found
    return rates if schedules else None


def _one_cycle(asked: Asked, base: Rates, time: Rates) -> Rates:
    """Go up from the base to ``max_lrs`` and down to ``min_lrs``, phase by phase."""
    levels = {"initial_lr": base} | {
        name: np.asarray(asked[f"{name}s"], dtype=np.float64)
        for name in ("max_lr", "min_lr")
    }
    rates = np.full((len(time), len(base)), np.nan)
    begin, done = 0.0, np.zeros(len(time), dtype=bool)
    for phase in asked["phases"]:
        end = float(phase["end_step"])
        now = ~done & (time <= end)
        if phase is asked["phases"][-1]:  # torch lets it step once more
            now = ~done & (time <= end + 1)
        share = (time[now, np.newaxis] - begin) / (end - begin)
        first, last = levels[phase["start_lr"]], levels[phase["end_lr"]]
        if asked["anneal"] == "cos":
            share = 1 - (np.cos(np.pi * share) + 1) / 2
        rates[now] = first + (last - first) * share
        begin, done = end, done | now
    return rates


def _above_zero(asked: Asked, key: str) -> float:
    value = float(asked[key])
    if value <= 0:
        raise ValueError(key)
    return value


def _warmed_up(asked: Asked, time: Rates, after: Rates) -> Rates:
    """Rise from 0 over ``num_warmup_steps``, then follow ``after``."""
    warmup = float(asked["num_warmup_steps"])
    return np.where(time < warmup, time / max(1.0, warmup), after)


def _progress(asked: Asked, time: Rates) -> Rates:
    """Give the share of the steps after warm-up that are made."""
    warmup = float(asked["num_warmup_steps"])
    left = max(1.0, float(asked["num_training_steps"]) - warmup)
    return (time - warmup) / left


def _half_waves(asked: Asked, progress: Rates) -> Rates:
    lowest = float(asked.get("min_lr_rate") or 0.0)
    wave = 0.5 * (1 + np.cos(np.pi * float(asked["num_cycles"]) * 2 * progress))
    return np.maximum(0.0, wave * (1 - lowest) + lowest)


def _constant(_asked: Asked, time: Rates) -> Rates:
    return np.ones_like(time)


def _constant_after_warmup(asked: Asked, time: Rates) -> Rates:
    return _warmed_up(asked, time, np.ones_like(time))


def _linear(asked: Asked, time: Rates) -> Rates:
    total = float(asked["num_training_steps"])
    planned = max(1.0, total - float(asked["num_warmup_steps"]))
    return _warmed_up(asked, time, np.maximum(0.0, (total - time) / planned))


def _cosine(asked: Asked, time: Rates) -> Rates:
    return _warmed_up(asked, time, _half_waves(asked, _progress(asked, time)))


def _cosine_with_restarts(asked: Asked, time: Rates) -> Rates:
    progress = _progress(asked, time)
    wave = 0.5 * (1 + np.cos(np.pi * ((float(asked["num_cycles"]) * progress) % 1.0)))
    return _warmed_up(asked, time, np.where(progress >= 1, 0.0, wave))


def _cosine_after_raised_warmup(asked: Asked, time: Rates) -> Rates:
    """Rise from ``warmup_lr_rate``, or from one part of the warm-up, not from 0."""
    warmup, start = float(asked["num_warmup_steps"]), asked.get("warmup_lr_rate")
    rising = (time + 1) / max(1.0, warmup)
    if start is not None:
        rising = float(start) + (1 - float(start)) * time / max(1.0, warmup - 1)
    after = _half_waves(asked, _progress(asked, time + 1))
    return np.where(time < warmup, rising, after)


def _polynomial(asked: Asked, time: Rates) -> Rates:
    start, end = _above_zero(asked, "lr_init"), float(asked["lr_end"])
    left = np.clip(1 - _progress(asked, time), 0.0, None)
    decay = (start - end) * left ** float(asked["power"]) + end
    over = time > float(asked["num_training_steps"])
    return _warmed_up(asked, time, np.where(over, end, decay) / start)


def _inverse_root(asked: Asked, time: Rates) -> Rates:
    scale = float(asked["timescale"])
    shifted = time + scale - float(asked["num_warmup_steps"])
    return _warmed_up(asked, time, np.sqrt(scale / shifted))


def _warmup_stable_decay(asked: Asked, time: Rates) -> Rates:
    warmup = float(asked["num_warmup_steps"])
    stable = warmup + float(asked["num_stable_steps"])
    decay = float(asked["num_decay_steps"])
    lowest = float(asked["min_lr_ratio"])
    up = np.clip(time / max(1.0, warmup), 0, 1)
    down = np.clip((time - stable) / max(1.0, decay), 0, 1)
    cycles = 2 * float(asked["num_cycles"])
    rising = {
        "linear": up,
        "cosine": 0.5 * (1 - np.cos(np.pi * up)),
        "1-sqrt": 1 - np.sqrt(1 - up),
    }[asked["warmup_type"]]
    falling = {
        "linear": 1 - down,
        "cosine": 0.5 * (1 + np.cos(np.pi * cycles * down)),
        "1-sqrt": 1 - np.sqrt(down),
    }[asked["decay_type"]]
    moving = np.where(time < warmup, rising, falling)
    factor = np.maximum(0.0, moving * (1 - lowest) + lowest)
    held = (time >= warmup) & (time < stable)
    return np.where(held, 1.0, np.where(time < stable + decay, factor, lowest))


def _line(asked: Asked, time: Rates) -> Rates:
    start, end = float(asked["start_factor"]), float(asked["end_factor"])
    total = _above_zero(asked, "total_iters")
    return start + (end - start) * np.minimum(total, time) / total


def _constant_first(asked: Asked, time: Rates) -> Rates:
    return np.where(
        time < _above_zero(asked, "total_iters"), float(asked["factor"]), 1.0
    )


def _power(asked: Asked, time: Rates) -> Rates:
    total = _above_zero(asked, "total_iters")
    left: Rates = 1 - np.minimum(total, time) / total
    fallen: Rates = np.power(left, float(asked["power"]))
    return fallen


def _wave(asked: Asked, time: Rates) -> Rates:
    return (1 + np.cos(np.pi * time / _above_zero(asked, "T_max"))) / 2


def _restarted_waves(asked: Asked, time: Rates) -> Rates:
    length, times = _above_zero(asked, "T_0"), max(1.0, asked["T_mult"])
    starts = [0.0]
    lengths = [length]
    while len(time) and starts[-1] + lengths[-1] <= time[-1]:
        starts.append(starts[-1] + lengths[-1])
        lengths.append(lengths[-1] * times)
    which = np.searchsorted(starts, time, side="right") - 1
    share: Rates = (time - np.asarray(starts)[which]) / np.asarray(lengths)[which]
    return 0.5 * (1 + np.cos(np.pi * share))


def _stairs(asked: Asked, time: Rates) -> Rates:
    return _fallen(asked, time // _above_zero(asked, "step_size"))


def _uneven_stairs(asked: Asked, time: Rates) -> Rates:
    reached = [each for each in asked["milestones"] if each == int(each)]
    return _fallen(asked, np.searchsorted(reached, time, side="right"))


def _exponential(asked: Asked, time: Rates) -> Rates:
    return _fallen(asked, time)


def _fallen(asked: Asked, times: NDArray[Any]) -> Rates:
    return np.power(float(asked["gamma"]), times.astype(np.float64))


_FACTORS: Mapping[str, Callable[[Asked, Rates], Rates]] = {
    "_get_constant_lambda": _constant,
    "_get_constant_schedule_with_warmup_lr_lambda": _constant_after_warmup,
    "_get_linear_schedule_with_warmup_lr_lambda": _linear,
    "_get_cosine_schedule_with_warmup_lr_lambda": _cosine,
    "_get_cosine_with_hard_restarts_schedule_with_warmup_lr_lambda": (
        _cosine_with_restarts
    ),
    "_get_cosine_with_min_lr_schedule_with_warmup_lr_rate_lambda": (
        _cosine_after_raised_warmup
    ),
    "_get_polynomial_decay_schedule_with_warmup_lr_lambda": _polynomial,
    "_get_inverse_sqrt_schedule_lr_lambda": _inverse_root,
    "_get_wsd_scheduler_lambda": _warmup_stable_decay,
    "LinearLR": _line,
    "ConstantLR": _constant_first,
    "PolynomialLR": _power,
    "CosineAnnealingLR": _wave,
    "CosineAnnealingWarmRestarts": _restarted_waves,
    "StepLR": _stairs,
    "MultiStepLR": _uneven_stairs,
    "ExponentialLR": _exponential,
}
