"""The rule OPT015, rate-overwritten.

## What it does
Finds learning rates that are set in one place and overwritten in another: a rate
written into `param_groups` that the scheduler undoes at its next step, and two
schedules of which one replaces what the other has set.

## Why is this bad?
LambdaLR, and with it every schedule of transformers, computes each rate from its
initial base rate, not from the one in use. What was written into the group lasts for
one update. Of two schedules only the last one to step counts, so a warm-up next to a
cosine never happens. The code says one rate and trains at another.

## Evidence
The rates before and after each scheduler step, for schedulers that do not build on the
rate in use (LambdaLR, OneCycleLR, CyclicLR, CosineAnnealingWarmRestarts):
- *set-by-hand*: before a step of the scheduler the rate is not the one that its last
  step left (or, at the first one, not the one it was made with), the step brings it
  back nearer to that than to what was set, and it is not set again before the next
  step. Loops that write their rate for every update are not reported, nor are jumps of
  the scheduler's own count (a checkpoint that is loaded).
- *two-schedules*: two schedulers of one optimizer step in the same 3 steps at least,
  and one of them does not build on the other's rate, while that one has moved it.
  LinearLR, ExponentialLR and StepLR multiply, and are made to be chained. Where that is
  less than half of the steps (one of the two is stepped per epoch) it is reported as
  info: a drop that lasts for one update changes little.
- *cut-undone*: before a step of ReduceLROnPlateau, or after the last step of another
  scheduler, the rate is nearer to what it was before the last cut than to what the cut
  has left, for 2 cuts in a row. This is reported instead of the above, and does not
  require the other schedule to be known.
Measured: a rate of 1e-2 halved by hand under get_cosine_schedule_with_warmup is back at
the schedule's after one update.
By hand: `optimizer.param_groups[0]["lr"]` before and after `scheduler.step()`.

## What to try
1. Set `scheduler.base_lrs` too, or create the scheduler after the change.
2. `SequentialLR(optimizer, [warmup, cosine], milestones=[n])` instead of two.
3. To set the rate yourself: no scheduler, or write it after each `scheduler.step()`.

## Known problems
A rate that was meant for a single update looks the same.
A group that is added after such a scheduler was made is no silent fault: in torch 2.13
the next step raises, as there are more groups than base rates.

## References
- torch.optim.lr_scheduler (chainable and closed forms)
- pytorch/pytorch#33416 (a second scheduler starts from `initial_lr`)
"""

import itertools
import math
from collections.abc import Sequence

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.saving import start
from ftlab.rules.reading.schedules import Plan, moves_of, plans_of, stepping
from ftlab.rules.reading.scheduling import needs_scheduler_steps
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import number

OWN_WAY = {"LambdaLR", "OneCycleLR", "CyclicLR", "CosineAnnealingWarmRestarts"}
"""Schedulers whose rate does not build on the one in use."""

REPEATS = 3
"""Steps in which one schedule must have replaced the other's rate."""

SAME = 1e-9
"""Relative distance of rates that nobody has touched."""


class RateOverwritten(Rule):
    """Finds rates that do not last."""

    code = "OPT015"
    requires = needs_scheduler_steps
    caused_by = ("OPT003", "ADP027")

    def check(self, run: Run) -> Results:
        """Yield one finding per optimizer with two schedules, or per scheduler."""
        owners: dict[int, list[Plan]] = {}
        for plan in plans_of(run):
            owner = plan.facts.get("optimizer_index")
            if owner is not None:
                owners.setdefault(int(owner), []).append(plan)
        for plans in owners.values():
            moved = {plan.index: moves_of(run, plan) for plan in plans}
            several = [plan for plan in plans if moved[plan.index]]
            undone = [f for p in several for f in self._undone(run, p, moved)]
            if undone:
                yield from undone
            elif len(several) > 1:
                yield from self._two(run, several, moved)
            elif several and several[0].facts.get("class") in OWN_WAY:
                yield from self._by_hand(run, several[0], moved[several[0].index])

    def _by_hand(self, run: Run, plan: Plan, entries: Sequence[LedgerEntry]) -> Results:
        made_with, begin = _made_with(run), entries[0].detail
        all_set = 0 < len(made_with) == len(begin["lr_before"])
        if all_set and begin.get("epoch") == 1:
            first = {"lr_after": made_with, "epoch": 0}
            entries = [
                LedgerEntry(-1, 0, "scheduler_step", plan.target, first),
                *entries,
            ]
        for last, this, then in zip(entries, entries[1:], entries[2:], strict=False):
            if not (_follows(last, this) and _follows(this, then)):
                continue
            group = _touched(last, this)
            if group is None or _touched(this, then) is not None:
                continue
            was, now = last.detail["lr_after"][group], this.detail["lr_before"][group]
            back = this.detail["lr_after"][group]
            if abs(back - was) >= abs(back - now):
                continue
            yield self._finding(
                run,
                "set-by-hand",
                (this.step, then.step),
                f"step {this.step}: the learning rate was set to {number(now)} from "
                f"{number(was)}, and the scheduler's next step made it {number(back)}: "
                "it lasted for one update",
                cause=f"{plan.facts['class']} computes each rate from its initial base "
                "rate; a rate written into the group is not read.",
                fix="Create the scheduler after the rate is set, or set "
                "scheduler.base_lrs as well.",
                places=[
                    Place("optimizer", "lr"),
                    Place("optimizer", f"param_groups[{group}]"),
                    stepping(run, plan),
                ],
            )
            return

    def _undone(
        self, run: Run, plan: Plan, moved: dict[int, list[LedgerEntry]]
    ) -> Results:
        if plan.facts.get("class") != "ReduceLROnPlateau":
            return
        entries = sorted(itertools.chain(*moved.values()), key=_time)
        cuts = [
            (cut, *later)
            for number, cut in enumerate(entries)
            if cut.target == plan.target
            and cut.detail["lr_after"] < cut.detail["lr_before"]
            and (later := _rates_later(cut, entries[number + 1 :])) is not None
        ]
        for one, other in itertools.pairwise(cuts):
            if not (_is_undone(*one) and _is_undone(*other)):
                continue
            cut, step, rates = other
            yield self._finding(
                run,
                "cut-undone",
                (one[0].step, step),
                f"ReduceLROnPlateau lowered the rate in steps {one[0].step} and "
                f"{cut.step}, to {number(cut.detail['lr_after'][0])}, but it is back "
                f"at {number(rates[0])}",
                cause="Another schedule, or the loop, sets the rate from its initial "
                "value: a warm-up in a LambdaLR that is stepped for the whole run.",
                fix="Stop stepping the warm-up when it is over.",
                places=[
                    Place("call", "ReduceLROnPlateau"),
                    stepping(run, plan),
                    Place("optimizer", "lr"),
                ],
            )
            return

    def _two(
        self, run: Run, plans: Sequence[Plan], moved: dict[int, list[LedgerEntry]]
    ) -> Results:
        for one, other in itertools.combinations(plans, 2):
            kinds = {str(each.facts.get("class")) for each in (one, other)}
            if not kinds & OWN_WAY:
                continue
            last = {entry.step: entry for entry in moved[one.index]}
            both = [
                (last[entry.step], entry)
                for entry in moved[other.index]
                if entry.step in last
            ]
            lost = [pair for pair in both if _is_lost(*pair, kinds <= OWN_WAY)]
            if len(lost) < REPEATS:
                continue
            most = max(len(moved[one.index]), len(moved[other.index]))
            yield self._finding(
                run,
                "two-schedules",
                (lost[0][0].step, lost[-1][0].step),
                f"{one.target} and {other.target} both set the rate of one optimizer: "
                f"in {len(lost)} steps one overwrote the other's rate",
                cause=f"{' and '.join(sorted(kinds))} do not build on each other: the "
                "last one to step wins.",
                fix="SequentialLR(optimizer, [first, second], milestones=[n]), or one "
                "schedule that does both.",
                places=[
                    Place("call", f"{one.target}.step"),
                    Place("call", f"{other.target}.step"),
                    Place("optimizer", "lr"),
                ],
                severity=Severity.INFO if len(lost) < most / 2 else Severity.WARNING,
            )

    def _finding(
        self,
        run: Run,
        reason: str,
        steps: tuple[int, int],
        message: str,
        *,
        cause: str,
        fix: str,
        places: Sequence[Place],
        severity: Severity = Severity.WARNING,
    ) -> Finding:
        return self.finding(
            severity,
            message,
            cause=cause,
            fix=fix,
            places=places,
            steps=steps,
            reason=reason,
            evidence={"threshold": REPEATS},
            healthy="one place that sets the rate",
        )


def _made_with(run: Run) -> list[float]:
    """Return the scheduler's own rates where the groups had others at the start."""
    pairs = start(run).get("overwritten_rates") or []
    return [float(own) for _, own in pairs]


def _follows(last: LedgerEntry, this: LedgerEntry) -> bool:
    """Tell whether the scheduler has made one step from the one to the other."""
    return bool(this.detail.get("epoch") == (last.detail.get("epoch") or 0) + 1)


def _touched(last: LedgerEntry, this: LedgerEntry) -> int | None:
    """Return the first group whose rate somebody has set between two steps."""
    pairs = zip(last.detail["lr_after"], this.detail["lr_before"], strict=False)
    for group, (left, found) in enumerate(pairs):
        if not math.isclose(left, found, rel_tol=SAME, abs_tol=0.0):
            return group
    return None


def _time(entry: LedgerEntry) -> tuple[int, int]:
    return entry.step, entry.index


def _rates_later(
    cut: LedgerEntry, later: Sequence[LedgerEntry]
) -> tuple[int, Sequence[float]] | None:
    """Return the rates before the scheduler's next step, or as they are, and when."""
    for entry in later:
        if entry.target == cut.target:
            return entry.step, entry.detail["lr_before"]
    return (later[-1].step, later[-1].detail["lr_after"]) if later else None


def _is_undone(cut: LedgerEntry, _: int, rates: Sequence[float]) -> bool:
    """Tell whether a cut was taken back before the scheduler's next step."""
    before, after = cut.detail["lr_before"], cut.detail["lr_after"]
    return all(
        abs(rate - high) < abs(rate - low)
        for high, low, rate in zip(before, after, rates, strict=False)
        if low < high
    )


def _is_lost(one: LedgerEntry, other: LedgerEntry, both_own: bool) -> bool:
    """Tell whether in a step one scheduler's move cannot have lasted."""
    first, second = sorted((one, other), key=lambda entry: entry.index)
    if both_own:
        return bool(first.detail["lr_after"] != second.detail["lr_after"])
    moves = [e.detail["lr_before"] != e.detail["lr_after"] for e in (first, second)]
    return all(moves)
