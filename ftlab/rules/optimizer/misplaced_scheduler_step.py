"""The rule OPT003, misplaced-scheduler-step.

## What it does
Reads from the order of operations whether the learning-rate scheduler is stepped once
after each optimizer step, or before it, several times, or once per micro-batch, and
whether the loop steps one that a SequentialLR or ChainedScheduler steps too.

## Why is this bad?
Before the optimizer: the first value of the schedule is never used, and warm-up begins
too high. Per micro-batch: with K micro-batches the schedule ends after 1/K of the run,
and the rest trains at its last value, usually 0. A scheduler within a chain that is
also stepped by the loop counts double, or starts before its turn.

## Evidence
The step ledger, cut at the update attempts of the scheduler's own optimizer. A
scheduler that changes no learning rate within the window is ignored; an order must
repeat in at least 3 update attempts and in at least half of those in the window. Legal,
and therefore quiet:
- one scheduler step after the update, before or after zero_grad, before the next
  forward, in a callback or in the loop (the Trainer's order in transformers 5.23 is
  clip, step, scheduler step, zero_grad);
- no scheduler step after an update that the scaler skipped (Trainer), or one (most
  loops);
- scheduler steps before the first forward of the run: resuming by stepping forward;
- fewer scheduler steps than updates (per epoch, on a plateau);
- N steps per update with N processes (accelerate), and several per update when the
  schedule was planned that long: its total is at least steps x micro-batches.
- inner schedulers that are stepped before the chain is created, or instead of it.

A chain steps its schedulers itself, and that is not counted; the loop's own steps of
one of them in the same updates are (*within-a-chain*), when either has moved a rate.
Measured in the ledger of real loops: healthy loops, accumulation over 4 micro-batches,
a GradScaler that skips its first updates and the Trainer gave 1 scheduler step per
update or none; a step per micro-batch gave 4.

## What to try
1. `optimizer.step(); scheduler.step(); optimizer.zero_grad()`, in this order.
2. With accumulation, step the scheduler where the optimizer is stepped.
3. If it should run per micro-batch, plan its total in micro-batches.
4. In a chain, step only the outermost scheduler.

## Known problems
A scheduler that steps first thing in each iteration cannot be told from one that was
stepped once before the loop; only its first value is lost, and the rule is quiet.
In a custom loop, a total in micro-batches that ftlab cannot read (LambdaLR) looks like
too many steps.

## References
- torch.optim.lr_scheduler, "How to adjust learning rate"
- torch.optim.lr_scheduler.SequentialLR.step (calls the inner scheduler's step)
- huggingface/accelerate#963, #2926; Lightning-AI/pytorch-lightning#1476
"""

from collections.abc import Sequence

from ftlab.rules.reading.cycles import Cycle, cycles_of
from ftlab.rules.reading.method_place import method_place
from ftlab.rules.reading.scheduling import needs_scheduler_steps
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import at_steps, number

REPEATS = 3
"""Update attempts in which the order must be wrong."""

SHARE = 0.5
"""Share of the window's update attempts in which it must be wrong."""


class MisplacedSchedulerStep(Rule):
    """Finds schedulers that step at the wrong place or too often."""

    code = "OPT003"
    status = "stable"
    requires = needs_scheduler_steps

    def check(self, run: Run) -> Results:
        """Yield one finding per scheduler."""
        targets = {e.target for e in run.ledger if e.op == "scheduler_step"}
        for target in sorted(targets):
            owner = f"optimizer {_owner(run, target)}"
            cycles = [c for c in cycles_of(run, target, owner) if c.whole]
            if not any(_moves(cycle) for cycle in cycles):
                continue
            often = [cycle for cycle in cycles if cycle.scheduled > 1]
            early = [cycle for cycle in cycles if cycle.inside]
            if _repeats(often, cycles) and not _planned(run, target, often):
                yield self._too_often(run, target, often)
            elif _repeats(early, cycles) and not _repeats(often, cycles):
                yield self._before(run, target, owner, early)
        for index, facts in enumerate(run.facts.schedulers):
            if facts.get("holds"):
                yield from self._within(run, index, facts["holds"])

    def _too_often(self, run: Run, target: str, cycles: Sequence[Cycle]) -> Finding:
        steps = cycles[0].step, cycles[-1].step
        count = cycles[-1].scheduled
        micro = cycles[-1].backwards
        per_micro = micro > 1 and count == micro
        how = "once per micro-batch" if per_micro else f"{count} times"
        return self.error(
            f"{at_steps(*steps)}: {target} is stepped {how}: {count} scheduler steps "
            f"for one optimizer step{_rates(cycles[0])}",
            cause="scheduler.step() is called in the loop over micro-batches."
            if per_micro
            else "scheduler.step() is called from more than one place (the loop and a "
            "callback, or a Trainer that steps it as well).",
            fix="Step the scheduler once, right after optimizer.step().",
            places=[method_place(run, target, "step")],
            steps=steps,
            evidence={
                "kind": "per-micro-batch" if per_micro else "several-times",
                "scheduler_steps": count,
                "micro_batches": micro,
                "threshold": 1,
            },
            healthy="one scheduler step per optimizer step, after it",
        )

    def _within(self, run: Run, outer: int, holds: Sequence[int]) -> Results:
        chain, facts = f"scheduler {outer}", run.facts.schedulers
        owner = f"optimizer {_owner(run, chain)}"
        by_step = {c.step: c for c in cycles_of(run, chain, owner) if c.whole}
        cycles = [cycle for cycle in by_step.values() if cycle.scheduled]
        found: dict[str, list[Cycle]] = {}
        for inner in holds:
            own = cycles_of(run, f"scheduler {inner}", owner)
            both = [c for c in own if c.scheduled and c.step in by_step]
            both = [c for c in both if by_step[c.step].scheduled]
            moved = any(_moves(c) or _moves(by_step[c.step]) for c in both)
            if moved and _repeats(both, cycles):
                found[f"scheduler {inner}"] = both
        if not found:
            return
        kinds = " and ".join(str(facts[int(t.split()[1])].get("class")) for t in found)
        (first, *_), (*_, last) = (
            min(found.values(), key=len),
            max(found.values(), key=len),
        )
        yield self.error(
            f"{at_steps(first.step, last.step)}: {facts[outer].get('class')} steps the "
            f"schedulers that it holds, and the loop steps {kinds} as well: they count "
            "double, or before their turn",
            cause="step() is called on the chain and on the schedulers within it.",
            fix=f"Step only the {facts[outer].get('class')}.",
            places=[
                *(method_place(run, target, "step") for target in found),
                method_place(run, chain, "step"),
                Place("optimizer", "lr"),
            ],
            steps=(first.step, last.step),
            evidence={
                "kind": "within-a-chain",
                "updates": max(map(len, found.values())),
                "threshold": REPEATS,
            },
            healthy="one scheduler step per optimizer step, of the outermost scheduler",
        )

    def _before(
        self, run: Run, target: str, owner: str, cycles: Sequence[Cycle]
    ) -> Finding:
        steps = cycles[0].step, cycles[-1].step
        place = method_place(run, target, "step")
        return self.warning(
            f"{at_steps(*steps)}: {target} steps between the forward pass and the step "
            f"of {owner}, so the schedule is one step ahead{_rates(cycles[0])}",
            cause="scheduler.step() is called before optimizer.step().",
            fix="Swap the two calls: optimizer.step(), then scheduler.step().",
            places=[
                Place(
                    "call",
                    f"{place.name} before {method_place(run, owner, 'step').name}",
                ),
                place,
            ],
            steps=steps,
            evidence={
                "kind": "before-optimizer",
                "updates": len(cycles),
                "threshold": REPEATS,
            },
            healthy="one scheduler step per optimizer step, after it",
        )


def _owner(run: Run, target: str) -> int:
    tail = target.rpartition(" ")[2]
    facts = run.facts.schedulers
    if tail.isdigit() and int(tail) < len(facts):
        return int(facts[int(tail)].get("optimizer_index") or 0)
    return 0


def _repeats(wrong: Sequence[Cycle], cycles: Sequence[Cycle]) -> bool:
    return len(wrong) >= REPEATS and len(wrong) >= SHARE * len(cycles)


def _moves(cycle: Cycle) -> bool:
    """Tell whether a scheduler step of the cycle changed a learning rate."""
    entries = (*cycle.early, *cycle.inside)
    return any(e.detail.get("lr_before") != e.detail.get("lr_after") for e in entries)


def _planned(run: Run, target: str, cycles: Sequence[Cycle]) -> bool:
    """Whether so many steps are meant: several processes, or a longer schedule."""
    training = run.facts.training
    count = max(cycle.scheduled for cycle in cycles)
    if count == int(training.get("world_size") or 1):
        return True
    total, steps = _total(run, target), training.get("max_steps")
    return bool(total and steps and int(steps) > 0 and total >= int(steps) * count)


def _total(run: Run, target: str) -> int:
    tail, facts = target.rpartition(" ")[2], run.facts.schedulers
    if not tail.isdigit() or int(tail) >= len(facts):
        return 0
    asked = facts[int(tail)].get("asked") or {}
    keys = ("num_training_steps", "total_iters", "total_steps", "T_max")
    return max((int(asked[key]) for key in keys if asked.get(key)), default=0)


def _rates(cycle: Cycle) -> str:
    entries = [e for e in (*cycle.early, *cycle.inside) if e.detail.get("lr_before")]
    if not entries:
        return ""
    before = entries[0].detail["lr_before"][0]
    after = entries[-1].detail["lr_after"][0]
    return f" (lr {number(before)} -> {number(after)} before step {cycle.step})"
