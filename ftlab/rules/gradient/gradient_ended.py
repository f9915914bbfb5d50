"""The rule GRD009, gradient-ended.

## What it does
Finds tensors that received gradients and, from some step on, no longer do, although
they are trainable and an optimizer holds them.

## Why is this bad?
They stay as they were at that step, or shrink by weight decay, while the rest keeps
training. An encoder output that is cached in the first epoch and reused, detached,
causes it, and so does a branch that is skipped later: the loss falls all the same.

## Evidence
`has_grad` and `grad_l2` of every trainable tensor at every step. A tensor's gradient
has ended when it was there and not 0 at 8 steps at least, and at half of the steps
until the last such one, and then at no step for 16 at least, and for 4 times as long as
ever before. Others must have gradients until the end. What counts as healthy:
- tensors that are frozen (`requires_grad`), and those that no optimizer holds;
- a change of task: others begin to have gradients at the same time (within 4 steps);
- experts, or layers that are dropped by chance: a tensor of the same shape whose name
  differs only by a number has gradients; and a gap is compared with the gaps before it;
- a gradient of exactly 0 beside a factor that is exactly 0.

Reported as *info* where it may be an output that is no longer used: outside of numbered
layers, and after something that still trains.
Measured: a tiny Llama, trained in full, whose embedding is computed once per batch and
kept detached: the gradient of `embed_tokens` ends with the first epoch; the loss falls
on.

## What to try
1. Recompute trained parts in each step; cache only what is frozen.
2. If it should stop: `parameter.requires_grad_(False)`, and remove it from the
   optimizer, whose weight decay continues.
By hand: `[n for n, p in model.named_parameters() if p.requires_grad and (p.grad is
None or not p.grad.any())]` after a backward of the second epoch.

## Known problems
Stages that skip a part without freezing it, and start training nothing new, are
reported. Runs of fewer than 24 steps are not judged. An embedding that is tied to the
head keeps getting gradients from there, and is not seen.

## References
- torch documentation, `Tensor.detach` and `Module.requires_grad_`
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.records.name_words import in_words
from ftlab.records.names import NameRecord
from ftlab.rules.reading.needs import needs_gradients
from ftlab.rules.reading.outside import held_outside
from ftlab.rules.reading.tensors import group_of, params, records_of, routed
from ftlab.rules.reasons.zero_factors import zero_beside_zero
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity

BEFORE = 8
"""Steps at which there must have been a gradient."""

AFTER = 16
"""Steps for which there must have been none since."""

LONGER = 4
"""Times as long as ever before."""

AT_ONCE = 4
"""Steps within which other gradients begin where the task has changed."""

Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]


class GradientEnded(Rule):
    """Finds tensors whose gradients end in the middle of a run."""

    code = "GRD009"
    requires = needs_gradients
    caused_by = ("GRD003", "OPT002")

    def check(self, run: Run) -> Results:
        """Yield one finding, of the tensors that were lost first."""
        has = run.matrix("has_grad")
        names = records_of(run, has.ids)
        moving = _moving(run)
        if len(moving) < BEFORE + AFTER:
            return
        last = len(moving) - 1 - np.argmax(moving[::-1], axis=0)
        lost = _ended(moving, has.known, last) & _held(run, names)
        lost &= ~_replaced(moving, last)
        lost &= ~(routed(names, lost) | zero_beside_zero(run, names, lost))
        alive = moving[-AFTER:].mean(axis=0) >= 1 / 2
        if not lost.any() or not alive.any():
            return
        row = int(last[lost].min()) + 1
        lost &= last < row + AT_ONCE
        yield self._finding(run, names, (lost, alive), row)

    def _finding(
        self,
        run: Run,
        names: Sequence[NameRecord],
        marks: tuple[Bools, Bools],
        row: int,
    ) -> Finding:
        lost, alive = marks
        has = run.matrix("has_grad")
        gone = [name for name, is_lost in zip(names, lost, strict=True) if is_lost]
        none = not has.values[row:, lost].any()
        first, end = int(has.steps[row]), int(has.steps[-1])
        how = "none" if none else "one of exactly 0"
        return self.finding(
            _severity(names, lost, alive),
            f"from step {first} on {in_words(name.name for name in gone)} no longer "
            f"{'has' if len(gone) == 1 else 'have'} a gradient ({how} at "
            f"{len(has.steps) - row} steps), though an optimizer holds "
            f"{'it' if len(gone) == 1 else 'them'} and there was one before",
            cause="What they compute no longer contributes to the loss: an output that "
            "is cached and reused, detached, or a branch that is skipped.",
            fix="Recompute trained parts in each step; freeze the rest with "
            "requires_grad_(False), and remove it from the optimizer.",
            places=params(gone),
            steps=(first, end),
            evidence={
                "without_gradient": len(gone),
                "steps_before": row,
                "steps_since": len(has.steps) - row,
                "threshold": AFTER,
            },
            healthy="a tensor that has had gradients has them until the end, or is "
            "frozen",
        )


def _moving(run: Run) -> Bools:
    """Mark the steps at which a tensor had a gradient that was not 0."""
    has, norms = run.matrix("has_grad"), run.matrix("grad_l2")
    got = (has.values > 0) & has.known
    if norms.values.shape == got.shape:
        got &= ~(norms.values == 0)
    return np.asarray(got, bool)


def _ended(moving: Bools, known: Bools, last: Rows) -> Bools:
    """Mark the tensors that had gradients for long, and have none for longer."""
    lost = np.zeros(moving.shape[1], bool)
    for column in np.flatnonzero(moving.sum(axis=0) >= BEFORE).tolist():
        end = int(last[column])
        rows = np.flatnonzero(moving[:, column])
        gap = int(np.diff(rows).max(initial=1)) - 1
        since = len(moving) - 1 - end
        often = 2 * len(rows) >= end + 1 - rows[0]
        there = bool(known[end + 1 :, column].all())
        lost[column] = often and there and since >= max(AFTER, LONGER * gap)
    return lost


def _held(run: Run, names: Sequence[NameRecord]) -> Bools:
    elsewhere = held_outside(run)
    held = [group_of(n) >= 0 and n.name not in elsewhere for n in names]
    return np.array(held, bool)


def _replaced(moving: Bools, last: Rows) -> Bools:
    """Mark those at whose end others began: another task, or the next stage."""
    found = np.zeros(moving.shape[1], bool)
    for row in np.unique(last).tolist():
        before = moving[max(0, row - AT_ONCE + 1) : row + 1].any(axis=0)
        after = moving[row + 1 : row + 1 + AT_ONCE].any(axis=0)
        found[last == row] = bool((after & ~before).any())
    return found


def _severity(names: Sequence[NameRecord], lost: Bools, alive: Bools) -> Severity:
    gone = [name for name, is_lost in zip(names, lost, strict=True) if is_lost]
    outside = not any(name.layer.rpartition(".")[2].isdigit() for name in gone)
    behind = int(np.argmax(alive)) < int(np.argmax(lost))
    return Severity.INFO if outside and behind else Severity.WARNING
