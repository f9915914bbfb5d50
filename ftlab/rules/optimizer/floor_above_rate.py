"""The rule OPT029, floor-above-rate.

## What it does
Finds schedule floors above the rate that they should limit: `min_lr` and `min_lr_rate`
of a cosine, `eta_min`, `min_lr` of ReduceLROnPlateau.

## Why is this bad?
A cosine goes from the rate to its floor, wherever that is: with a floor of 1e-2 above a
rate of 1e-4 the rate grows a hundredfold, and is highest at the end of the run.
ReduceLROnPlateau takes the larger of the reduced rate and the floor, and never cuts.

## Evidence
- *rises-to-its-floor*: `eta_min` of CosineAnnealingLR or CosineAnnealingWarmRestarts is
  above the group's initial rate (`base_lrs`), or `min_lr_rate` or `min_lr_ratio` of a
  schedule of transformers is above 1; of a SequentialLR its last part is read, as the
  first ones may be a warm-up that a cosine makes. A Trainer's `lr_scheduler_kwargs` are
  read where there is no scheduler yet. All of it is known before the first step. Groups
  with a rate of 0 are ignored.
- *never-cuts*: in 3 steps of ReduceLROnPlateau at least the rates of all groups have
  been the same, and below their `min_lrs`, and so have all rates of the run: one that
  has reached its floor, and a warm-up in progress, are not reported.
Reported as info where the floor is below the rates of other groups, where another
scheduler drives the same optimizer, and where a cosine is at most half as long as the
run: a warm-up in a chain that is built by hand.
Measured with transformers 5.23, learning_rate=1e-4 and min_lr=1e-2, 16 steps: the last
rate is 9.9e-3.
By hand: `scheduler.eta_min` against `scheduler.base_lrs`; `scheduler.get_last_lr()`.

## What to try
1. `min_lr_rate=0.1`, a fraction of the rate, instead of `min_lr`.
2. Write the floor after the rate: a tenth of it is usual.

## Known problems
A cosine that is a warm-up in a chain built by hand, in a loop of unknown length, is
reported too; within a SequentialLR it is not.

## References
- transformers/optimization.py (`min_lr_rate = min_lr / optimizer.defaults["lr"]`)
- torch.optim.lr_scheduler.ReduceLROnPlateau (`max(old_lr * factor, min_lr)`)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ftlab.rules.reading.asked import arguments, asked
from ftlab.rules.reading.schedules import (
    Plan,
    may_be_scheduled,
    per_update,
    plans_of,
    run_length,
    stepping,
)
from ftlab.rules.rule import Finding, Need, Place, Results, Rule, Run, Severity
from ftlab.rules.words import number

REPEATS = 3
"""Steps of ReduceLROnPlateau at one rate below its floor."""

ABOVE = 1 + 1e-6
"""Of the rate: a floor that is the rate itself is a constant schedule."""

SHARES = ("min_lr_rate", "min_lr_ratio")
"""Floors in shares of the rate, as the schedules of transformers have them."""

COSINES = ("CosineAnnealingLR", "CosineAnnealingWarmRestarts")

_PLATEAU = "ReduceLROnPlateau"


@dataclass(frozen=True, slots=True)
class _Floor:
    """A floor, the rates that it is to limit, and whether it is above all of them."""

    setting: str
    floor: float
    rate: float
    every: bool
    reason: str = "rises-to-its-floor"


class FloorAboveRate(Rule):
    """Finds schedules that go up to what they should not fall below."""

    code = "OPT029"
    requires = Need(
        "a learning-rate scheduler, or the arguments of a Trainer",
        "pass it: ftlab.watch(model, optimizer, scheduler=scheduler)",
        lambda run: bool(run.facts.schedulers or arguments(run)),
    )
    applies = staticmethod(may_be_scheduled)

    def check(self, run: Run) -> Results:
        """Yield one finding per schedule."""
        facts = run.facts.schedulers
        if not facts and (floor := _asked_for(run)) is not None:
            yield self._finding(run, None, floor, Severity.WARNING)
        held = {i for each in facts for i in each.get("holds") or ()}
        plans = [p for p in plans_of(run) if p.index >= 0 and p.index not in held]
        owners = [plan.facts.get("optimizer_index") for plan in plans]
        for plan, owner in zip(plans, owners, strict=True):
            floor = _floor(plan.facts) or _never_cuts(run, plan)
            if floor is None:
                continue
            meant = not floor.every or owners.count(owner) > 1 or _is_stage(run, plan)
            severity = Severity.INFO if meant else Severity.WARNING
            yield self._finding(run, plan, floor, severity)

    def _finding(
        self, run: Run, plan: Plan | None, floor: _Floor, severity: Severity
    ) -> Finding:
        never = floor.reason == "never-cuts"
        settings = [name for name in ("min_lr", *SHARES) if name in _kwargs(run)]
        settings = [*settings, "lr_scheduler_kwargs"] if settings else [floor.setting]
        kind = "the schedule" if plan is None else str(plan.facts.get("class"))
        places = [Place("config", name) for name in settings]
        if plan is not None:
            places += [Place("call", kind), stepping(run, plan)]
        return self.finding(
            severity,
            f"the floor that {settings[0]} gives to {kind} is {number(floor.floor)}, "
            f"above the rate that it should limit, {number(floor.rate)}: "
            + ("the rate is never cut" if never else "the rate goes up to it"),
            cause="The floor was set for a larger rate, or as a rate where a fraction "
            "is expected.",
            fix="Set it to a tenth of the rate, or to 0.",
            places=[*places, Place("optimizer", "lr")],
            steps=(-1, max(-1, run.last_step)),
            reason="never-cuts" if never else "rises-to-its-floor",
            evidence={"floor": floor.floor, "threshold": floor.rate},
            healthy="a floor below the rate",
        )


def _floor(facts: Mapping[str, Any]) -> _Floor | None:
    """Read the floor of a schedule, or of a chain's last part; none where it is low."""
    told, kind = facts.get("asked") or {}, facts.get("class")
    if kind == "SequentialLR" and told.get("schedulers"):
        last = told["schedulers"][-1]
        return _floor({"class": last.get("class"), "asked": last})
    rates = [float(rate) for rate in told.get("base_lrs") or () if rate]
    if kind in COSINES:
        return _above("eta_min", float(told.get("eta_min") or 0.0), rates)
    for name in SHARES if kind == "LambdaLR" and "schedule" in told else ():
        share = told.get(name)
        if isinstance(share, int | float) and share > ABOVE:
            rate = max(rates, default=1.0)
            return _Floor(name, float(share) * rate, rate, every=True)
    return None


def _above(setting: str, floor: float, rates: Sequence[float]) -> _Floor | None:
    below = [rate for rate in rates if floor > ABOVE * rate > 0]
    if not below:
        return None
    return _Floor(setting, floor, max(below), every=len(below) == len(rates))


def _asked_for(run: Run) -> _Floor | None:
    """Read the floor that a Trainer's arguments ask for; none where it is low."""
    args, told = arguments(run), _kwargs(run)
    rate = args.get("learning_rate")
    own = [g.get("lr") for o in run.facts.optimizers for g in o.get("groups") or ()]
    rates = [float(each) for each in own or [rate] if isinstance(each, int | float)]
    if not rates or not max(rates):
        return None
    for name in ("min_lr", *SHARES):
        value = told.get(name)
        if not isinstance(value, int | float):
            continue
        floor = float(value) * (max(rates) if name in SHARES else 1.0)
        found = _above(name, floor, [each for each in rates if each])
        if found is not None and found.every:
            return replace(found, reason="never-cuts") if _waits(args) else found
    return None


def _kwargs(run: Run) -> Mapping[str, Any]:
    told = asked(run).get("lr_scheduler_kwargs")
    return told if isinstance(told, Mapping) else {}


def _waits(args: Mapping[str, Any]) -> bool:
    return args.get("lr_scheduler_type") in {"reduce_lr_on_plateau", "greedy"}


def _never_cuts(run: Run, plan: Plan) -> _Floor | None:
    if plan.facts.get("class") != _PLATEAU or plan.facts.get("optimizer_index"):
        return None  # a step's rates are those of the first optimizer
    floors = np.asarray(plan.asked.get("min_lrs") or [], np.float64)
    seen = [
        entry.detail[key]
        for entry in run.ledger
        if entry.op == "scheduler_step" and entry.target == plan.target
        for key in ("lr_before", "lr_after")
    ]
    if len(seen) < 2 * REPEATS or any(len(each) != len(floors) for each in seen):
        return None
    rates, used = np.asarray(seen), run.whole.steps["lr"]
    if (rates != rates[0]).any() or not (rates[0] > 0).all() or not len(used):
        return None
    highest = np.fmax(np.fmax.reduce(used, axis=0)[: len(floors)], rates[0])
    if not (highest * ABOVE < floors).all():
        return None
    worst = int(np.argmax(floors / highest))
    return _Floor(
        "min_lr", float(floors[worst]), float(highest[worst]), True, "never-cuts"
    )


def _is_stage(run: Run, plan: Plan) -> bool:
    """Tell whether a cosine is a part of the run only, as a warm-up is."""
    length = run_length(run) * per_update(run, plan)
    return plan.facts.get("class") in COSINES and 0 < 2 * plan.total <= length
