"""The rule GRD019, never-updated.

## What it does
Finds loops that call backward again and again but never update: no optimizer of the
model has stepped, and no weight has changed.

## Why is this bad?
The loss is computed, there are gradients, and a loss that differs from batch to batch
looks like training. All of it is thrown away, and nothing fails.

## Evidence
No optimizer's step was heard, and a sample of the weights (up to 64 elements of 8) is
what it was after the first backward: updates by hand, or in a compiled step, do not
count as this. The reason is derived from the counts:
- *held-back*: accelerate's step was called, and skipped because it was still
  accumulating (`sync_gradients` is False), more often than it accumulates
  micro-batches: the loop counts as well, and its count never lines up with
  accelerate's. Measured with gradient_accumulation_steps=4 and `if i % 4 == 0:
  optimizer.step()`: 5 of 5 calls skipped in 20 micro-batches; with `(i + 1) % 4` all of
  them update.
- *cleared-before-update*: gradients of several backwards were cleared before any update
  used them: an epoch is shorter than the accumulation, or the counter restarts before
  it is complete.
- *no-step*: no optimizer step was called.

Reported during the run in the first case, or where gradients were cleared 3 times, each
time after fewer backwards (2 at least) than the loss is divided by. Otherwise it is
reported when watching ends. A long accumulation alone (measured up to 128
micro-batches) is never reported before that, and then as *info* where the loss is
divided by as many, or accelerate is set to as many. It is *info* too after fewer than 8
backwards, where the run ended with an error, and where no optimizer was known: only
gradients may be wanted.
By hand: `before = weight.clone()`, some iterations, `torch.equal(weight, before)`.

## What to try
1. *held-back*: call `optimizer.step()` and `zero_grad()` in each iteration within
   `accelerator.accumulate(model)`: the prepared optimizer skips steps that are too
   early. Or check `if accelerator.sync_gradients`, and count nothing yourself.
2. *cleared-before-update*: count over epochs, or step at the end of each; clear only
   after the step.
3. *no-step*: call `optimizer.step()` after backward.

## Known problems
A watch that is ended by hand in the middle of the first accumulation is reported as
*no-step* where nothing says how long it should be. Updates that stop later in a run are
not found.

## References
- accelerate/optimizer.py (`AcceleratedOptimizer.step`: `gradient_state.sync_gradients`)
- huggingface/transformers#2995, timoschick/pet#25 (an epoch below one accumulation)
- huggingface/diffusers#10855 (what a prepared optimizer does at each call)
"""

from collections.abc import Mapping
from typing import Any

from ftlab.rules.rule import Place, Results, Rule, Run, Severity, needs_operations
from ftlab.rules.words import counted

OP = "no_update"

FEWEST = 8
"""Backwards without any update from which on somebody should look."""

HELD, CLEARED, NO_STEP = "held-back", "cleared-before-update", "no-step"

_STEP = Place("call", "optimizer.step")

_PLACES = {
    HELD: (_STEP, Place("call", "accelerator.accumulate")),
    CLEARED: (Place("call", "optimizer.zero_grad"), _STEP),
    NO_STEP: (_STEP, Place("call", "loss.backward")),
}

_CAUSES = {
    HELD: "Both the loop and accelerate count micro-batches: whenever the loop calls "
    "step, accelerate is still accumulating and skips it.",
    CLEARED: "The counter of micro-batches restarts before it is complete (an epoch is "
    "shorter than the accumulation, say), and the accumulated gradients are cleared.",
    NO_STEP: "No step of an optimizer of this model was called.",
}

_FIXES = {
    HELD: "Call step() and zero_grad() of the prepared optimizer in each iteration, or "
    "only if accelerator.sync_gradients; do not count in the loop.",
    CLEARED: "Count over the epochs, or step at the end of each with what is left, and "
    "clear only after optimizer.step().",
    NO_STEP: "Call optimizer.step() after backward, with the optimizer that holds "
    "these parameters.",
}


class NeverUpdated(Rule):
    """Finds backwards that no update follows."""

    code = "GRD019"
    requires = needs_operations(
        OP,
        "backwards that no update followed, or a step",
        "let it run for a step, or to its end",
    )

    def applies(self, run: Run) -> bool:
        """Leave out runs that have made an update."""
        return run.last_step < 0

    def check(self, run: Run) -> Results:
        """Yield one finding of what was noted last."""
        known = [entry.detail for entry in run.ledger if entry.op == OP][-1]
        reason = _reason(known)
        backwards, divided = int(known["backwards"]), int(known["divided"])
        yield self.finding(
            _severity(run, known, reason),
            f"{backwards} backwards but no update: {_said(known, reason)}",
            cause=_CAUSES[reason],
            fix=_FIXES[reason],
            places=[*_PLACES[reason], Place("config", "gradient_accumulation_steps")],
            steps=(-1, -1),
            reason=reason,
            evidence={
                "backwards": backwards,
                "steps_held_back": int(known["held"]),
                "times_cleared": int(known["clears"]),
                "loss_divided_by": divided,
            },
            healthy="an update after each accumulation",
        )


def _reason(known: Mapping[str, Any]) -> str:
    times = known["backwards"] if known["ended"] else known["held"]
    if known["held"] and known["asked"] and times > known["asked"]:
        return HELD
    return CLEARED if known["gathered"] > 1 else NO_STEP


def _said(known: Mapping[str, Any], reason: str) -> str:
    if reason == HELD:
        return (
            "optimizer.step() was called and skipped by accelerate "
            f"{counted(known['held'], 'time')}; accelerate accumulates "
            f"{known['asked']} micro-batches"
        )
    if reason == CLEARED:
        loss = f" of a loss divided by {known['divided']}" if known["divided"] else ""
        return (
            f"after at most {known['gathered']} of them{loss} unused gradients were "
            f"cleared, {counted(known['clears'], 'time')}"
        )
    return "no optimizer has stepped, and the weights are what they were"


def _severity(run: Run, known: Mapping[str, Any], reason: str) -> Severity:
    meant = max(known["asked"], known["divided"])
    # what accelerate was asked for may be left of an earlier loop of the process
    proven = known["divided"] or (known["held"] and known["asked"])
    if reason == HELD or (reason == CLEARED and known["gathered"] < proven):
        return Severity.ERROR
    if not run.facts.optimizers:
        return Severity.INFO
    if reason == CLEARED:
        return Severity.ERROR
    broken = str(run.meta.get("ended", "")).startswith(("failed", "interrupted"))
    gathering = not known["clears"] and known["backwards"] <= meant
    few = known["backwards"] < FEWEST
    return Severity.INFO if broken or gathering or few else Severity.WARNING
