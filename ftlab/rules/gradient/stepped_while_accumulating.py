"""The rule GRD007, stepped-while-accumulating.

## What it does
Finds optimizers that step after each micro-batch, while accelerate is still
accumulating gradients for the next update.

## Why is this bad?
`accelerator.backward` divides the loss by the number of micro-batches, and instead of
one update from K of them there are K updates, from one each. The batch is K times
smaller than configured, clipping and schedule are off by K.

## Evidence
`sync_gradients` of accelerate's `GradientState` at each step of an optimizer, and how
many backwards came since the last one. A prepared optimizer skips its step while that
is False. Found when at least half of the updates that should have been skipped were
made, in 3 steps at least, each from one backward, and when it is True at some update
and never False at K in a row: the state is one per process, and what an earlier loop
left there says nothing about this one. Updates from several backwards that are out of
phase (accumulated by hand) are not reported.
Measured: with gradient_accumulation_steps=4 and a bare AdamW 40 of 40 micro-batches
update, 30 of them while `sync_gradients` is False; with the prepared one 10 and 0.
By hand: `print(accelerator.sync_gradients)` before `optimizer.step()`, and
`type(optimizer)`: it should be an AcceleratedOptimizer.

## What to try
1. `model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)`, and
   use what it returns.
2. Step only `if accelerator.sync_gradients`.

## Known problems
Only accelerate says what it is doing; accumulation by hand cannot be told from steps.

## References
- accelerate, "Performing gradient accumulation"
- QwenLM/Qwen3-TTS#326
"""

from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.cycles import times
from ftlab.rules.reading.method_place import method_place
from ftlab.rules.rule import Rule, needs_operations
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

UPDATES = 3
"""Updates that must have come too early."""

SHARE = 0.5
"""Share of the updates that were to be left out which must have been made."""


class SteppedWhileAccumulating(Rule):
    """Finds updates that accelerate would have left out."""

    code = "GRD007"
    name = "stepped-while-accumulating"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_operations("step", "a step of an optimizer", "let it run for a step"),
    )

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding per optimizer."""
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
                yield self._finding(run, target, early, len(mine))

    def _finding(
        self, run: Run, target: str, early: Sequence[LedgerEntry], count: int
    ) -> Finding:
        first, last = early[0].step, early[-1].step
        gathered = int(early[-1].detail["accumulating"])
        return self.finding(
            Severity.ERROR,
            f"{at_steps(first, last)}: {len(early)} of {count} updates were made while "
            f"accelerate was still accumulating {gathered} micro-batches, each from "
            "one backward",
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
            steps=(first, last),
            evidence={
                "reason": "not-prepared",
                "updates": len(early),
                "gathered": gathered,
                "threshold": UPDATES,
            },
            healthy="no update while accelerator.sync_gradients is False",
        )


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
