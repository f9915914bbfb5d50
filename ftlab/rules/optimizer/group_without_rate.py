"""The rule OPT005, group-without-rate.

## What it does
Finds parameter groups whose learning rate is 0 and that no schedule can raise,
schedules that keep everything at 0, and rates that have died away.

## Why is this bad?
The tensors of the group receive gradients, cost moments and memory, and never move. A
schedule multiplies the group's initial rate: 0 times anything stays 0. With LoRA it is
enough if the group of the B factors has it: B A is 0 for good.

## Evidence
The learning rate of each group at each recorded step, exactly 0 at all of them, and
the group's `initial_lr`, which a scheduler writes. Where that is above 0 the schedule
itself gives 0 now (warm-up, layers unfrozen in turn), and the rule is quiet.
It is
- an error when nothing else can have an effect: no group has a rate above 0, or all
  that moves besides are factors of pairs whose other factor is in such a group and is
  0;
- a warning when the group holds adapter tensors or a new head and a scheduler includes
  it: those exist to be trained;
- info in other cases: a rate of 0 is one way to freeze, and a loop that sets its rates
  by hand may raise it later.
It takes 2 steps with a scheduler and 16 without one, or 8 where nothing else has an
effect (*rate-of-zero*).

A rate that is above 0 and at most 1e-8 of the highest in the same optimizer, in all
steps and initially, is a warning after 2 steps (*next-to-zero*): under Adam such
weights do not change in float32, and the way to freeze is 0. Layer-wise decay ends
above it: 0.5 for 24 blocks is 6e-8.

Where all groups of all optimizers are at 0 though they started above it, nothing is
trained, which is a warning after 8 updates:
- *never-stepped*: no scheduler has been stepped so far: the call is missing, or comes
  once per epoch while the warm-up is counted in updates, and the first epoch is lost;
- *schedule-at-zero*: it was stepped 8 times, and has given 0 each time (an integer
  division, a total of 0).

Where the rates of all groups, above 0 still, are at 1e-6 of their highest or below at
the end, for 16 updates and a fifth of the run, that is a warning (*died-away*). No
schedule plans that: a cosine is there for a thousandth of its length. An ExponentialLR
with 0.8 per epoch, stepped at each update, is there after 62.

Measured on a small Llama: with
`lr=0` for the B factors all `b_l2` are 0 after 20 steps and the loss stays at 4.85.
By hand: `[(g["lr"], g.get("initial_lr")) for g in optimizer.param_groups]`.

## What to try
1. Give the group a rate: `{"params": ..., "lr": 1e-4}`; with LoRA+ a ratio above 0.
2. To freeze, leave the tensors out of the optimizer and call `requires_grad_(False)`.
3. `learning_rate` from a file: is it a number, and not rounded to 0?

## Known problems
A group that is unfrozen by hand after the recorded steps is reported as info.

## References
- Hayou et al. 2024, LoRA+ (a rate of its own for B)
- torch.optim.lr_scheduler.LRScheduler (`initial_lr`)
"""

from collections.abc import Sequence

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.needs import needs_optimizers, needs_rates
from ftlab.rules.reading.tensors import group_of, text_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, in_words, number

STEPS, STEPS_BY_HAND = 2, 16
"""Steps at a rate of 0, with a scheduler and without one."""

IDLE = 8
"""Updates at a rate of 0 everywhere, that a schedule has given."""

NEXT_TO_ZERO = 1e-8
"""Of the highest rate in the same optimizer."""

DIED, DIED_STEPS, DIED_SHARE = 1e-6, 16, 0.2
"""Of its highest rate, and for how many updates at the end, which part of all.

A cosine over 200 updates is there for its last one; 140 healthy runs never were.
"""

SECOND = {"lora_A": "lora_B", "lora_embedding_A": "lora_embedding_B"}
"""First factors of pairs, and the second ones, which begin at 0."""


class GroupWithoutRate(Rule):
    """Finds parameter groups whose learning rate is 0 from the start."""

    code = "OPT005"
    status = "stable"
    requires = (needs_rates, needs_optimizers)

    def check(self, run: Run) -> Results:
        """Yield one finding over all such groups, or all groups."""
        if (idle := self._idle(run)) is not None:
            yield idle
            return
        for found in (self._next_to_zero(run), self._died(run)):
            if found is not None:
                yield found
        zero = _without_rate(run)
        held = [name for name in run.names().values() if group_of(name) in zero]
        if not held:
            return
        others = [n for n in run.names().values() if group_of(n) >= 0 and n not in held]
        steps = run.steps.step
        planned = any(zero[group] for group in zero)
        severity = _severity(run, held, others, planned=planned)
        by_hand = IDLE if severity is Severity.ERROR else STEPS_BY_HAND
        if len(steps) >= (STEPS if planned else by_hand):
            yield self._finding(run, severity, sorted(zero), held)

    def _next_to_zero(self, run: Run) -> Finding | None:
        small = _next_to_zero(run) if len(run.steps.step) >= STEPS else {}
        held = [name for name in run.names().values() if group_of(name) in small]
        if not held:
            return None
        group = group_of(held[0])
        return self.warning(
            f"the learning rate of parameter group {group} is {number(small[group])} "
            f"of the highest: {counted(len(held), 'tensor')} effectively frozen: "
            f"{in_words(name.name for name in held)}",
            cause="A factor was given as an exponent, or applied twice.",
            fix=f"Set optimizer.param_groups[{group}]['lr']; to freeze these tensors "
            "use requires_grad_(False).",
            places={
                "optimizer": [f"param_groups[{group}]", "lr"],
                "param": [name.name for name in held],
            },
            steps=(int(run.steps.step[0]), int(run.steps.step[-1])),
            reason="next-to-zero",
            evidence={
                "groups": len(small),
                "tensors": len(held),
                "threshold": NEXT_TO_ZERO,
            },
            healthy="rates that differ by a factor of less than a million",
        )

    def _died(self, run: Run) -> Finding | None:
        rates, steps = np.nan_to_num(run.steps["lr"]), run.steps.step
        peaks = rates.max(axis=0, initial=0.0)
        shares = rates[:, peaks > 0] / peaks[peaks > 0]
        alive = np.flatnonzero((shares > DIED).any(axis=1))
        begin = int(alive[-1]) + 1 if len(alive) else len(steps)
        idle = len(steps) - begin
        if idle < max(DIED_STEPS, DIED_SHARE * len(steps)) or not rates[begin:].any():
            return None
        first, last = int(steps[begin]), int(steps[-1])
        stepped = any(entry.op == "scheduler_step" for entry in run.ledger)
        called = [Place("call", "scheduler.step")]
        return self.warning(
            f"{at_steps(first, last)}: the learning rate is {number(rates[-1].max())}, "
            f"and was {number(peaks.max())}: nothing is learned any more",
            cause="A factor that is meant for an epoch is applied at each update, or "
            "the schedule is one for a shorter run."
            if stepped
            else "The rate is computed from the one before, so its factors compound, "
            "or by a formula for a shorter run.",
            fix="Call scheduler.step() once per epoch, or choose a factor per update."
            if stepped
            else "Compute each rate from the first one: group['lr'] = base * factor.",
            places=[Place("optimizer", "lr"), *called[:stepped]],
            steps=(first, last),
            reason="died-away",
            evidence={"updates": idle, "threshold": DIED},
            healthy="a rate that falls to 0 with the last updates",
        )

    def _idle(self, run: Run) -> Finding | None:
        rates, steps = run.steps["lr"], run.steps.step
        groups = [g for each in run.facts.optimizers for g in each.get("groups", ())]
        begun = [bool(group.get("initial_lr")) for group in groups]
        if len(steps) < IDLE or np.isnan(rates).any() or rates.any() or not any(begun):
            return None
        made = sum(entry.op == "scheduler_step" for entry in run.ledger)
        if 0 < made < IDLE:
            return None
        first, last = int(steps[0]), int(steps[-1])
        return self.warning(
            f"{at_steps(first, last)}: the schedule has given a learning rate of 0 to "
            f"{counted(len(steps), 'update')}"
            + ("" if made else ", and no scheduler was stepped"),
            cause="The schedule's function returns 0: an integer division, or a total "
            "of 0."
            if made
            else "scheduler.step() is missing, or is called once per epoch while the "
            "warm-up counts updates.",
            fix="Call scheduler.step() after each optimizer.step()."
            if not made
            else "Print the function's values for the first steps.",
            places={"call": "scheduler.step", "optimizer": "lr"},
            steps=(first, last),
            reason="schedule-at-zero" if made else "never-stepped",
            evidence={"updates": len(steps), "threshold": IDLE},
            healthy="a learning rate above 0 from the second update on",
        )

    def _finding(
        self,
        run: Run,
        severity: Severity,
        groups: Sequence[int],
        held: Sequence[NameRecord],
    ) -> Finding:
        steps = run.steps.step
        first, last = int(steps[0]), int(steps[-1])
        which = ", ".join(str(group) for group in groups)
        move = "moves" if len(held) == 1 else "move"
        return self.finding(
            severity,
            f"{at_steps(first, last)}: the learning rate of parameter group {which} is "
            f"0: {counted(len(held), 'tensor')} never {move}: "
            f"{in_words(name.name for name in held)}",
            cause="The group was given a learning rate of 0; a schedule multiplies it, "
            "and cannot raise it.",
            fix=f"Set optimizer.param_groups[{groups[0]}]['lr'] above 0 before the "
            "scheduler is built; to freeze these tensors use requires_grad_(False).",
            places={
                "optimizer": ["lr", f"param_groups[{groups[0]}]"],
                "param": [name.name for name in held],
            },
            steps=(first, last),
            reason="rate-of-zero",
            evidence={"groups": len(groups), "tensors": len(held), "threshold": 0},
            healthy="each group has a learning rate above 0 at some step",
        )


def _without_rate(run: Run) -> dict[int, bool]:
    """Return the groups whose rate is 0 throughout; whether a scheduler knows each."""
    rates = run.steps["lr"]
    facts = [g for each in run.facts.optimizers for g in each.get("groups", ())]
    found = {}
    for group, facts_of in enumerate(facts[: rates.shape[1]]):
        known = rates[:, group][~np.isnan(rates[:, group])]
        if len(known) and not known.any() and not facts_of.get("initial_lr"):
            found[group] = "initial_lr" in facts_of
    return found


def _next_to_zero(run: Run) -> dict[int, float]:
    """Return groups whose rate is next to 0, and which share of the highest it is."""
    found: dict[int, float] = {}
    rates, begin = run.steps["lr"], 0
    for optimizer in run.facts.optimizers:
        facts = optimizer.get("groups") or ()
        columns = rates[:, begin : begin + len(facts)]
        bases = [float(g.get("initial_lr") or g.get("lr") or 0.0) for g in facts]
        alive = columns[(np.nan_to_num(columns) > 0).all(axis=1)]
        if facts and len(alive) >= STEPS and columns.shape[1] == len(facts):
            share = (alive / alive.max(axis=1, keepdims=True)).max(axis=0)
            found |= {
                begin + group: float(share[group])
                for group, base in enumerate(bases)
                if share[group] <= NEXT_TO_ZERO and base <= NEXT_TO_ZERO * max(bases)
            }
        begin += len(facts)
    return found


def _severity(
    run: Run, held: Sequence[NameRecord], others: Sequence[NameRecord], *, planned: bool
) -> Severity:
    stuck = {_pair(name, text_of(name, "role")) for name in held} & _at_zero(run)
    if all(_pair(n, SECOND.get(text_of(n, "role"), "")) in stuck for n in others):
        return Severity.ERROR
    new = any(text_of(name, "role") not in {"", "weight", *SECOND} for name in held)
    return Severity.WARNING if planned and new else Severity.INFO


def _pair(name: NameRecord, role: str) -> tuple[str, str, str]:
    return text_of(name, "module"), text_of(name, "adapter"), role


def _at_zero(run: Run) -> set[tuple[str, str, str]]:
    """Return the factors whose norm was exactly 0 whenever it was measured."""
    if "weight_l2" not in run.columns():
        return set()
    matrix, names = run.matrix("weight_l2").measured(), run.names()
    still = matrix.known.any(axis=0) & ~(np.nan_to_num(matrix.values) != 0).any(axis=0)
    rows = [names[row] for row in matrix.ids[still].tolist() if row in names]
    return {_pair(name, text_of(name, "role")) for name in rows}
