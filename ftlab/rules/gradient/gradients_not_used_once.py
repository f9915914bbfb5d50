"""The rule GRD005, gradients-not-used-once.

## What it does
Finds loops in which the gradients of a backward do not enter exactly one update:
nothing clears them, they are cleared before anything used them, the optimizer steps
twice with them, or it steps before they are complete.

## Why is this bad?
Backward adds to what is in `.grad`, and nothing fails where the calls around it come in
another order. Never cleared, each update follows the sum of the whole run: the loss
falls at first, then swings or climbs. Cleared within the loop over micro-batches, K - 1
of K backwards are paid for and thrown away. Stepped twice, the learning rate is twice
what it says, and Adam's moments count the batch twice. Stepped while accelerate is
still accumulating, K updates are made, each from a loss that was divided by K.

## Evidence
In steps 1 to 7 and in every 16th, up to 8 gradients of an optimizer are checked:
- *not-cleared*: `gradients_carried`, the norm of those that were still in place, the
  very same tensors, when backward began after the last update; above 0 in 3 checks in a
  row. It is 0 where `zero_grad` was called, where `.grad` was set to `None` or
  replaced, written to by hand, or holds zeros. Legal: accumulation, clearing by hand,
  optimizers that clear in their own step or within backward, a closure, two optimizers
  in turn.
- *cleared-while-accumulating*: `gradients_thrown_away`, the backwards of a step after
  which `zero_grad` came before any step, while another backward followed; in 3 checks
  in a row, in runs with one optimizer. Legal: sharpness-aware steps, projected
  gradients of several tasks, a closure, backwards that another model's optimizer steps
  after.
- *no-backward-between*: `gradients_used_again`, the norm of those that are the same as
  at the optimizer's last step, without a write or a backward in between; in 2 checks.
- *not-prepared*: `sync_gradients` of accelerate's `GradientState` at each step, and the
  backwards since the last one. At least half of the updates that accelerate would have
  skipped were made, in 3 steps at least, each from one backward; it is True at some
  update, and never False at K in a row, as what an earlier loop left there would be.
Measured on a small Llama with LoRA and SGD (lr 0.05), steps 1 to 7: without zero_grad
the norm grew from 0.41 to 1.54 (with it 0.28 to 0.46). With 4 micro-batches and
zero_grad among them, 3 were thrown away in each step (norm 0.09, 0.26 with all four).
With gradient_accumulation_steps=4 and a bare AdamW, 30 of 40 updates came while
`sync_gradients` was False; with the prepared one 0.
By hand: print a line at each `zero_grad`, `backward` and `step`, and read the order.

## What to try
1. Once per update, in this order: all its backwards, `optimizer.step()`,
   `optimizer.zero_grad()`.
2. Several optimizers: each clears its own, or `model.zero_grad()` clears all.
3. With a GradScaler `scaler.step(optimizer)` alone; in a Trainer, leave it to the
   Trainer.
4. With accelerate, use what `accelerator.prepare(model, optimizer, scheduler)` returns,
   and call `zero_grad` after `step`: at the beginning of `accumulate()` it clears what
   was accumulated.

## Known problems
Custom momentum (a gradient multiplied by a factor instead of being cleared) is taken as
intended; a step that is repeated on purpose, and backwards run only to look at their
gradients, are reported. Sharded gradients are not checked. Only accelerate says that it
is accumulating.

## References
- torch.optim.Optimizer.zero_grad;
  torch.optim.optimizer.register_optimizer_step_pre_hook
- pytorch, "Automatic Mixed Precision examples" (scaler.step calls the step)
- accelerate, "Performing gradient accumulation"
- stackoverflow.com/q/60335387 (TrainCheck SO-60335387; never cleared)
- starVLA/starVLA#395, huggingface/accelerate#1299 (cleared while accumulating)
- QwenLM/Qwen3-TTS#326 (not prepared)
"""

from collections.abc import Sequence

import numpy as np

from ftlab.records.finding import Finding, Place
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.cycles import times
from ftlab.rules.reading.method_place import method_place
from ftlab.rules.reading.tensors import group_of, params
from ftlab.rules.rule import Need, Results, Rule, needs_operations, needs_step_values
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

LOOKS = {"gradients_carried": 3, "gradients_thrown_away": 3, "gradients_used_again": 2}
"""Checks that must be wrong; the first two columns count checks in a row."""

UPDATES = 3
"""Updates that must have come too early."""

SHARE = 0.5
"""Share of the updates that were to be left out which must have been made."""

HEALTHY = "each backward is used by exactly one update, and cleared after it"


def _is_looked_at(run: Run) -> bool:
    needs = [needs_step_values(column, "", "") for column in LOOKS]
    needs += [needs_operations("step", "", "")]
    return any(need.present(run) for need in needs)


class GradientsNotUsedOnce(Rule):
    """Finds backwards that enter several updates, or none, or half of one."""

    code = "GRD005"
    status = "stable"
    requires = Need(
        "a look at the gradients between two updates",
        "let it run for two steps",
        _is_looked_at,
    )

    def check(self, run: Run) -> Results:
        """Yield one finding of each kind, over all checks of the window."""
        if carried := _looks(run, "gradients_carried"):
            yield self._carried(run, *carried)
        thrown = _looks(run, "gradients_thrown_away")
        if thrown and len(run.facts.optimizers) <= 1:  # else it may be the other's
            yield self._thrown(*thrown)
        if again := _looks(run, "gradients_used_again", in_a_row=False):
            yield self._again(run, *again)
        yield from self._early(run)

    def _carried(self, run: Run, steps: list[int], norms: list[float]) -> Finding:
        optimizers = sorted({e.target for e in run.ledger if e.op == "step"})
        held = [name for name in run.names().values() if group_of(name) >= 0]
        return self._finding(
            "not-cleared",
            steps,
            f"in each of {len(steps)} checks the gradients of earlier updates were "
            f"still there when backward began, norm {number(norms[0])}, then "
            f"{number(norms[-1])}: each update uses the sum of all so far",
            cause="Nothing clears the gradients between two updates: zero_grad is "
            "missing, or is not called on the trained parameters.",
            fix="Call optimizer.zero_grad() once per update, before the forward or "
            "right after optimizer.step().",
            places=[
                Place("call", "optimizer.zero_grad"),
                *(method_place(run, each, "step") for each in optimizers),
                *params(held),
            ],
            threshold=LOOKS["gradients_carried"],
            norm_first=norms[0],
            norm_last=norms[-1],
        )

    def _thrown(self, steps: list[int], thrown: list[float]) -> Finding:
        count = int(min(thrown))
        return self._finding(
            "cleared-while-accumulating",
            steps,
            f"the gradients of {count} of {count + 1} backwards of each update were "
            "cleared by zero_grad before anything used them; only the last micro-batch "
            "is learned from",
            cause="zero_grad is called in the loop over micro-batches, between the "
            "backwards of one optimizer step.",
            fix="Call zero_grad once per update, right after optimizer.step(); with "
            "accelerator.accumulate, use the prepared optimizer.",
            places=[
                Place("call", "optimizer.zero_grad"),
                Place("call", "loss.backward"),
            ],
            threshold=LOOKS["gradients_thrown_away"],
            thrown_away=count,
        )

    def _again(self, run: Run, steps: list[int], norms: list[float]) -> Finding:
        entries = (entry for entry in run.ledger if entry.step in set(steps))
        targets = sorted({entry.target for entry in entries if entry.op == "step"})
        return self._finding(
            "no-backward-between",
            steps,
            f"in {len(steps)} checks {targets[0]} stepped again with the gradients of "
            f"its last step, without a backward in between (norm {number(norms[-1])})",
            cause="step() is called more than once for each backward: each batch is "
            "applied twice, and the moments count it twice.",
            fix="Call optimizer.step() (or scaler.step(optimizer)) in one place, once "
            "after backward.",
            places=[method_place(run, each, "step") for each in targets],
            threshold=LOOKS["gradients_used_again"],
            norm=norms[-1],
        )

    def _early(self, run: Run) -> Results:
        """Yield one finding per optimizer that accelerate could not hold back."""
        updates = [entry for entry in run.ledger if entry.op == "step"]
        for target in sorted({entry.target for entry in updates}):
            mine = [entry for entry in updates if entry.target == target]
            early = [e for e in mine if e.detail.get("accumulating") and _alone(run, e)]
            if len(early) < UPDATES:
                continue
            gathered = int(early[-1].detail["accumulating"])
            meant = any(not entry.detail.get("accumulating") for entry in mine)
            if not meant or _longest(mine) >= gathered:
                continue
            if len(early) >= SHARE * len(mine) * (gathered - 1) / gathered:
                yield self._unprepared(run, target, early, len(mine))

    def _unprepared(
        self, run: Run, target: str, early: Sequence[LedgerEntry], count: int
    ) -> Finding:
        gathered = int(early[-1].detail["accumulating"])
        return self._finding(
            "not-prepared",
            [entry.step for entry in early],
            f"{len(early)} of {count} updates were made while accelerate was still "
            f"accumulating {gathered} micro-batches, each from one backward",
            cause="The optimizer was not given to accelerator.prepare, or the original "
            "is stepped instead of the prepared one: accumulate() cannot skip its "
            f"step, and each update uses a loss divided by {gathered}.",
            fix="model, optimizer = accelerator.prepare(model, optimizer), and step "
            "that one.",
            places=[
                Place("call", "accelerator.prepare"),
                method_place(run, target, "step"),
                Place("optimizer", target),
                Place("config", "gradient_accumulation_steps"),
            ],
            threshold=UPDATES,
            gathered=gathered,
        )

    def _finding(
        self,
        reason: str,
        steps: Sequence[int],
        seen: str,
        *,
        cause: str,
        fix: str,
        places: Sequence[Place],
        **evidence: float,
    ) -> Finding:
        return self.error(
            f"{at_steps(steps[0], steps[-1])}: {seen}",
            cause=cause,
            fix=fix,
            places=places,
            steps=(steps[0], steps[-1]),
            reason=reason,
            evidence={"looks": len(steps), **evidence},
            healthy=HEALTHY,
        )


def _looks(
    run: Run, column: str, *, in_a_row: bool = True
) -> tuple[list[int], list[float]] | None:
    """Return the checks that were wrong up to now, if they are enough."""
    table = run.steps
    if column not in table.columns:
        return None
    known = table.known(column)
    steps, values = table.step[known], table[column][known]
    wrong = values > 0
    if in_a_row:
        clean = np.flatnonzero(~wrong)
        wrong = np.arange(len(values)) > (clean[-1] if len(clean) else -1)
    if wrong.sum() < LOOKS[column]:
        return None
    return steps[wrong].tolist(), values[wrong].tolist()


def _longest(updates: Sequence[LedgerEntry]) -> int:
    """Return how many updates in a row came while accelerate was gathering."""
    longest = now = 0
    for entry in updates:
        now = now + times(entry) if entry.detail.get("accumulating") else 0
        longest = max(longest, now)
    return longest


def _alone(run: Run, update: LedgerEntry) -> bool:
    """Tell whether an update is made of one backward."""
    same = (e for e in run.ledger if e.step == update.step and e.op == "backward")
    return sum(times(entry) for entry in same) == 1
