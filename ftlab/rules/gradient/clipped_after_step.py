"""The rule GRD011, clipped-after-step.

## What it does
Finds loops that clip the gradients after the optimizer has already used them, or before
backward has computed them.

## Why is this bad?
Clipping is on, a norm is logged, but no update is limited: each uses the unclipped
gradient. One bad batch moves the weights as far as its gradient says.

## Evidence
The order of calls within each step: at least one clipping call, all of them after the
last optimizer step (`after-step`) or before the first backward (`before-backward`); and
the norm of the gradients that the update used, which is measured whether they are
clipped or not. Found in 3 updates in a row: one call out of order is no habit. An error
where the norm was above the limit in all of them: they should have been clipped and
were not. Reported as info where it was below the limit: no harm done so far. An
infinite limit is a way to read the norm, and is not reported; nor is a clipping call
after the step in addition to one before it.
Measured on a small Llama with LoRA and SGD, the loss multiplied by 20, max_norm 1:
four updates were made from norms of 23.3 to 43.9; with the two calls swapped, of 1.
By hand: `torch.stack([p.grad.norm() for p in parameters]).norm()` right before
`optimizer.step()` must not be above `max_norm`.

## What to try
1. Clip between `loss.backward()` and `optimizer.step()`.
2. With a GradScaler: `scaler.unscale_(optimizer)`, clip, `scaler.step(optimizer)`.

## Known problems
Clipping by custom code is not seen.

## References
- torch.nn.utils.clip_grad_norm_
- taesunwhang/UMS-ResSel#3, VGraphRNN/VGRNN#4, awslabs/graphstorm#1366
- simchowitzlabpublic/nano-world-model#22 (clipped before backward)
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.method_place import method_place
from ftlab.rules.reading.update_parts import (
    Update,
    by_step,
    limit_of,
    may_clip,
    needs_clipping,
    updates_of,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

UPDATES = 3
"""Updates in a row."""


class ClippedAfterStep(Rule):
    """Finds clippings that no update feels."""

    code = "GRD011"
    name = "clipped-after-step"
    since = "0.1.0"
    status = "preview"
    requires = (needs_clipping,)

    def applies(self, run: Run) -> bool:
        """Tell whether gradients are clipped, or nothing has been stepped yet."""
        return may_clip(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding over the latest updates."""
        latest = reversed(list(updates_of(run)))
        wrong = [*takewhile(_is_wrong, latest)][::-1]
        if len(wrong) >= UPDATES:
            yield self._finding(run, wrong)

    def _finding(self, run: Run, wrong: Sequence[Update]) -> Finding:
        first, last = wrong[0].step, wrong[-1].step
        norms = by_step(run, "grad_norm")
        limit = min(_limits(wrong[-1]))
        seen = [norms[update.step] for update in wrong if update.step in norms]
        above = bool(seen) and all(norm > limit for norm in seen)
        late = any(_is_late(update) for update in wrong)
        what = _name(wrong[-1].astray[-1])
        when = "after optimizer.step" if late else "before loss.backward"
        return self.finding(
            Severity.ERROR if above else Severity.INFO,
            f"{at_steps(first, last)}: gradients were clipped to {number(limit)} "
            f"{when}; the updates used gradients of norm "
            f"{number(max(seen, default=float('nan')))}",
            cause=f"{what} is called {when}, too late to change the update."
            if late
            else f"{what} is called {when}, before there is anything to clip.",
            fix="Clip between loss.backward() and optimizer.step().",
            places=[
                Place("call", f"{what} {when}"),
                Place("call", what),
                method_place(run, wrong[-1].targets[-1], "step"),
                Place("config", "max_grad_norm"),
            ],
            steps=(first, last),
            evidence={
                "reason": "after-step" if late else "before-backward",
                "updates": len(wrong),
                "limit": limit,
                "norm": max(seen, default=float("nan")),
                "threshold": UPDATES,
            },
            healthy="clipping right before the step: no update with a gradient norm "
            "above the limit",
        )


def _is_wrong(update: Update) -> bool:
    return not update.clips and bool(_limits(update))


def _limits(update: Update) -> list[float]:
    return [limit_of(each) for each in update.astray if limit_of(each) < float("inf")]


def _is_late(update: Update) -> bool:
    """Tell whether a clipping came after the step, and not before a backward."""
    first = update.backwards[0].index
    return any(each.index > first for each in update.astray)


def _name(entry: LedgerEntry) -> str:
    return f"clip_grad_{entry.target or 'norm'}_"
