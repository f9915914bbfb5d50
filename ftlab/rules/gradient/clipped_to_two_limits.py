"""The rule GRD014, clipped-to-two-limits.

## What it does
Finds updates whose gradients are clipped by norm twice, to two different limits, both
of which take effect.

## Why is this bad?
The smaller limit wins, and the larger one might as well not be there: changing
`max_grad_norm` of the Trainer, or of the loop, has no effect. Each further clipping
also costs a pass over all gradients.

## Evidence
At least two clippings of all trained parameters by the same kind of norm, between the
last backward and the step, with finite limits that differ, and a gradient norm before
them above the larger of the limits: each of the two would have clipped on its own.
Found in 3 updates in a row. Quiet: the same limit twice (the second changes nothing), a
limit that was never reached (a way to read the norm), groups that are clipped on their
own before or after all of them, and clipping by value beside clipping by norm.
Measured on a small Llama with LoRA in a Trainer, max_grad_norm 0.05 and a callback that
clips to 0.01 at `on_pre_optimizer_step`: norms of 0.31 to 0.44 became 0.05 and then
0.01 in each of five updates.
By hand: print a line at each `clip_grad_norm_` with its limit and what it returns: from
the second on it returns what the one before has left.

## What to try
1. Clip in one place. With a Trainer that is `max_grad_norm`; 0 switches it off.

## Known problems
Some lower a second, smaller limit on purpose while the first stays; then remove the
first.

## References
- transformers, `TrainingArguments.max_grad_norm`
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.update_parts import (
    Update,
    by_step,
    covers_all,
    limit_of,
    may_clip,
    needs_clipping,
    updates_of,
)
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

UPDATES = 3
"""Updates in a row."""


class ClippedToTwoLimits(Rule):
    """Finds clippings of which the smaller limit alone holds."""

    code = "GRD014"
    name = "clipped-to-two-limits"
    since = "0.1.0"
    status = "preview"
    requires = (
        needs_clipping,
        needs_step_values("grad_norm", "the gradient norm of each step", "ftlab.watch"),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether gradients are clipped, or nothing has been stepped yet."""
        return may_clip(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding over the latest updates."""
        norms = by_step(run, "grad_norm")

        def is_wrong(update: Update) -> bool:
            limits = _limits(update)
            above = norms.get(update.step, 0.0) > max(limits, default=float("inf"))
            return len(limits) > 1 and above

        latest = reversed(list(updates_of(run)))
        wrong = [*takewhile(is_wrong, latest)][::-1]
        if len(wrong) >= UPDATES:
            yield self._finding(wrong, [norms[update.step] for update in wrong])

    def _finding(self, wrong: Sequence[Update], norms: Sequence[float]) -> Finding:
        first, last = wrong[0].step, wrong[-1].step
        limits = _limits(wrong[-1])
        told = " and to ".join(map(number, limits))
        return self.finding(
            Severity.WARNING,
            f"{at_steps(first, last)}: all gradients were clipped to {told} before "
            f"each update, from norms of up to {number(max(norms))}: only "
            f"{number(min(limits))} has an effect",
            cause="Gradients are clipped in two places: the loop and a callback, or a "
            "Trainer that clips as well.",
            fix="Clip in one place, to one limit.",
            places=[Place("call", "clip_grad_norm_"), Place("config", "max_grad_norm")],
            steps=(first, last),
            evidence={
                "reason": "two-limits",
                "smaller": min(limits),
                "larger": max(limits),
                "updates": len(wrong),
                "threshold": UPDATES,
            },
            healthy="one clipping of all gradients per update",
        )


def _limits(update: Update) -> list[float]:
    """Return the different finite limits to which all gradients were clipped."""
    clips = [e for e in update.clips if e.target == "norm" and covers_all(e)]
    if any(each.detail.get("scaled") for each in clips):
        return []
    if len({each.detail.get("norm_type") for each in clips}) > 1:
        return []
    limits = dict.fromkeys(map(limit_of, clips))
    return [limit for limit in limits if limit < float("inf")]
