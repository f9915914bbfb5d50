"""The rule ADP036, rank-budget-out-of-step.

## What it does
Finds AdaLoRA runs whose rank allocator is never called, gets the wrong step number, or
has pruned all ranks.

## Why is this bad?
AdaLoRA starts with `init_r` ranks per layer and prunes those of the layers that need
them least, until `target_r` are left on average. A method does this that nothing calls
automatically. Without it AdaLoRA is a LoRA of `init_r` with a penalty on top; with step
numbers that run too fast, ranks are pruned before it is known which are needed; if they
run too slowly, never. The loss falls all the same.

## Evidence
The step that `update_and_allocate` was told at each optimizer step, the ranks whose
singular value is not 0, and `tinit`, `tfinal`, `deltaT` and `total_step`.
- *never-called*: no call in the window, although the step is behind `tinit` by
  `deltaT`, at which the first ranks should have gone (by 4 steps at least), and all
  ranks are there. Runs that end before are left alone.
- *stands-still*: the step it is passed grows by less than 0.1 per optimizer step over 8
  steps: an epoch, or a constant.
- *too-fast*, *too-slow*: the length of the run in the allocator's steps (from the
  Trainer's max_steps or a schedule of transformers; else what it was told so far) is
  1.5 times `total_step` or more; or it is so much less that at its end more than half
  of the ranks to be taken would still be there.
- *all-gone*: none is left at 2 steps, and `target_r` is above 0: importance is weight
  times gradient, and with cleared gradients all are worth 0.
Measured (peft 0.21.2, 4 layers, init_r 8, target_r 2, 60 steps): 8 of 32 ranks were
left with the right clock, 32 without a call, 31 with total_step 10,000.
By hand: `sum(int((p != 0).sum()) for n, p in model.named_parameters() if "lora_E" in
n)`.

## What to try
1. `model.base_model.update_and_allocate(step)` after `optimizer.step()` and before
   `zero_grad`, once for each optimizer step.
2. With a Trainer: a `TrainerCallback` that does so in `on_optimizer_step`; at
   `on_step_end` the gradients are gone.
3. `total_step` is the number of optimizer steps of the run: batches x epochs /
   gradient_accumulation_steps.

## Known problems
Where the length of a run is not known (a loop without a schedule of transformers), a
`total_step` that is too large can only be found by hand. Calls are seen if PEFT was
imported when watching began.

## Known myths
"The rank of the layers shrinks": measured, the tensors keep the shape of init_r, and
pruned ranks are 0 in `lora_E`; the shapes are smaller only in the saved file.

## References
- Zhang et al. 2023, AdaLoRA, arXiv:2303.10512
- huggingface/peft#432, #1327, #1801, #3373; huggingface/sentence-transformers#3842
"""

import math

import numpy as np

from ftlab.rules.reasons.rank_plan import Clock, Plan, clock_of, length_of, plan_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Severity, needs_step_values
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

EARLY = 4
"""Steps that are awaited in any case before a call counts as missing."""

POINTS = 4
"""Calls that it takes to know the pace."""

LONG = 8
"""Steps over which a clock must go on."""

STILL = 0.1
"""Growth per optimizer step below which a clock stands still."""

OFF = 1.5
"""Factor between the run's length and `total_step` from which they do not fit."""

LEFT = 0.5
"""Share of the ranks to be taken that may be there at the end of the run."""

TWICE = 2
"""Steps without any rank from which it is no chance."""

CALL = Place("call", "update_and_allocate")


class RankBudgetOutOfStep(Rule):
    """Finds AdaLoRA whose ranks are not given away in time."""

    code = "ADP036"
    status = "stable"
    requires = needs_step_values(
        "ranks_kept",
        "the ranks that AdaLoRA has left",
        "watch a model with AdaLoRA, with the standard probes",
    )

    def applies(self, run: Run) -> bool:
        """Tell whether an AdaLoRA is trained, or nothing is known of adapters."""
        return "adapters" not in run.facts.model or plan_of(run) is not None

    def check(self, run: Run) -> Results:
        """Yield what is wrong with the calls, or with what they left."""
        plan = plan_of(run)
        if plan is None or not len(run.steps):
            return
        gone = _all_gone(run)
        if gone and plan.target:
            yield self._gone(run, plan, gone)
        clock = clock_of(run)
        if not len(clock.steps):
            yield from self._never(run, plan)
        elif len(clock.steps) >= POINTS:
            yield from self._judged(run, plan, clock)

    def _never(self, run: Run, plan: Plan) -> Results:
        first, last = int(run.steps.step[0]), run.last_step
        known = run.steps.known("ranks_kept")
        kept, ranks = (run.steps[c][known] for c in ("ranks_kept", "ranks"))
        due = max(plan.begin + plan.every, first + EARLY)
        # All are 0 until the first update, so it is the latest count that tells.
        if last < due or not len(kept) or kept[-1] < ranks[-1]:
            return
        yield self._finding(
            plan,
            "never-called",
            f"{at_steps(first, last)}: all {number(float(ranks[-1]))} ranks of AdaLoRA "
            f"adapter {plan.adapter} remain; from step {plan.begin} on they should "
            "have been pruned, but update_and_allocate was not called",
            "Nothing calls update_and_allocate automatically: neither backward, nor "
            "the optimizer, nor a Trainer.",
            "model.base_model.update_and_allocate(step) after optimizer.step() and "
            "before zero_grad; with a Trainer in a callback's on_optimizer_step.",
            ([CALL, Place("config", "target_r")], (first, last)),
        )

    def _judged(self, run: Run, plan: Plan, clock: Clock) -> Results:
        steps = int(clock.steps[0]), int(clock.steps[-1])
        if clock.pace < STILL:
            if steps[1] - steps[0] >= LONG:
                yield self._stands_still(plan, clock, steps)
            return
        length, planned = length_of(run, clock)
        if length >= OFF * plan.total:
            yield self._too_fast(plan, clock, steps, length)
        elif planned and OFF * length <= plan.total and plan.share_left(length) > LEFT:
            yield self._too_slow(plan, clock, steps, length)

    def _stands_still(
        self, plan: Plan, clock: Clock, steps: tuple[int, int]
    ) -> Finding:
        return self._finding(
            plan,
            "stands-still",
            f"{at_steps(*steps)}: update_and_allocate was passed "
            f"{number(clock.told[0])} at first and {number(clock.told[-1])} at last",
            "It is passed something other than the step: an epoch, or a constant.",
            "Pass the number of the optimizer step: update_and_allocate(global_step).",
            ([CALL], steps),
        )

    def _too_fast(
        self, plan: Plan, clock: Clock, steps: tuple[int, int], length: float
    ) -> Finding:
        end = math.ceil(clock.steps[0] + (plan.end - clock.told[0]) / clock.pace)
        micro = clock.pace >= OFF
        config = Place("config", "total_step")
        return self._finding(
            plan,
            "too-fast",
            f"{at_steps(*steps)}: the allocator's step number grows by "
            f"{number(clock.pace)} per optimizer step, up to {number(length)}, but "
            f"total_step is {plan.total}: pruning is over at optimizer step {end}",
            "It is passed the number of the micro-batch, but total_step counts "
            "optimizer steps."
            if micro
            else "total_step is much smaller than the number of steps of this run.",
            "Call it once per optimizer step, with the number of that step."
            if micro
            else f"total_step={round(length)}.",
            ([CALL, config] if micro else [config, CALL], steps),
        )

    def _too_slow(
        self, plan: Plan, clock: Clock, steps: tuple[int, int], length: float
    ) -> Finding:
        return self._finding(
            plan,
            "too-slow",
            f"{at_steps(*steps)}: at the end of the run the allocator's step number "
            f"will be {number(length)}, but total_step is {plan.total}: "
            f"{number(100 * plan.share_left(length))} % of the ranks to be pruned will "
            "remain",
            "total_step is much larger than the number of steps of this run.",
            f"total_step={round(length)}, with tinit and tfinal to match.",
            ([Place("config", "total_step"), CALL], steps),
        )

    def _gone(self, run: Run, plan: Plan, steps: list[int]) -> Finding:
        return self._finding(
            plan,
            "all-gone",
            f"{at_steps(steps[0], steps[-1])}: no rank of AdaLoRA adapter "
            f"{plan.adapter} is left, target_r is {plan.target}: it adds nothing",
            "Importance is weight times gradient. The gradients were cleared to 0 "
            "before update_and_allocate was called, so all ranks had importance 0.",
            "Call update_and_allocate after optimizer.step() and before zero_grad.",
            ([CALL, Place("config", "target_r")], (steps[0], steps[-1])),
            severity=Severity.ERROR,
        )

    def _finding(
        self,
        plan: Plan,
        reason: str,
        message: str,
        cause: str,
        fix: str,
        where: tuple[list[Place], tuple[int, int]],
        *,
        severity: Severity = Severity.WARNING,
    ) -> Finding:
        places, steps = where
        return self.finding(
            severity,
            message,
            cause=cause,
            fix=fix,
            places=places,
            steps=steps,
            reason=reason,
            evidence={"tinit": plan.begin, "total_step": plan.total, "threshold": OFF},
            healthy="the allocator is passed each optimizer step, up to total_step",
        )


def _all_gone(run: Run) -> list[int]:
    """Return the steps at which no rank was left although there had been some."""
    kept = run.steps["ranks_kept"]
    had = np.maximum.accumulate(np.nan_to_num(kept)) > 0
    rows = np.flatnonzero(had & (kept == 0))
    return [int(step) for step in run.steps.step[rows]] if len(rows) >= TWICE else []
