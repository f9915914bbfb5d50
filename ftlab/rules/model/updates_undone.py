"""The rule MOD012, updates-undone.

## What it does
Finds loops that undo the optimizer's updates: each one, all of them from time to time,
or most of them at each evaluation.

## Why is this bad?
The loss, the gradients and the learning rate look normal, but the model learns nothing,
or only what it learned since the last time. With a copy of the weights (an average, a
"best" state, a backup) it takes one wrong or missing line.

## Evidence
- *put-back*: sums in float64 of every tensor that an optimizer holds, before an update,
  after it, and before the next one, at the first steps and then every 64. At 4 of them
  in a row, the last included, every tensor that the update had changed was exactly what
  it was before. Whole tensors are summed: loops that train some rows of an embedding
  and restore the others are not affected. Where the model was used without a graph
  before the weights were restored, it is info: trying an update and undoing it may be
  the purpose.
- *back-at-first*: up to 128 elements of 3 trained tensors, after each update and
  before the next one. All of them were exactly what they were at the first update, 4
  times, at no more than half of the steps, and nothing else was ever written.
- *left-by-evaluation*: the same elements at the first forward without a graph after an
  update. At the last 2 evaluations at least the model was evaluated with other weights
  than the update had left, and the next update began from those, while the weights were
  not written at any other time. A warning where 0.9 of the progress since the last
  evaluation is lost (median), and info from 0.05 on. Lookahead and other averages that
  are meant to stay keep 0.2 to 0.8 of the progress.

Not counted: steps before which an optimizer's state was loaded or another optimizer
took over (trials, folds, a rollback), adapters that were merged, and runs whose frozen
weights have changed by as much (ReLoRA).
Measured over 40 steps of a tiny Llama with AdamW at 1e-3: an average with a decay of
0.999 that stays after each 8 steps undoes 0.995 of the progress, and the loss is at 4.2
instead of 2.8; every value is bit-equal in a run that swaps it in and back.

## What to try
1. Restore the weights after an evaluation, in `finally`: `ema.store(parameters)`,
   `ema.copy_to(parameters)`, and `ema.restore(parameters)` when it is over.
2. Look at what is copied into parameters after `optimizer.step()`: `.data`, `copy_`,
   `load_state_dict`; and at the condition around it.
3. Call the average's `update()` after each step: one that never is keeps the first
   weights.
By hand: keep `w = p.detach().clone()` before a step and print `(p - w).abs().max()`
after it, and again before the next one.

## Known problems
An average whose decay grows with the steps stays close to the weights; adopting it is
info. Meta-learning that goes back to the same weights for more than 4 tasks with one
optimizer, before it moves them, is reported until it does.

## References
- PKU-YuanGroup/Open-Sora-Plan#186 (an average that is not swapped out again)
- MultimediaTechLab/YOLO#97 (an average that is never updated, swapped in at each epoch)
- Zhang et al. 2019, Lookahead, arXiv:1907.08610
"""

import numpy as np
from numpy.typing import NDArray

from ftlab.rules.reading.frozen import changes_of
from ftlab.rules.reading.loads import optimizer_loads
from ftlab.rules.rule import Finding, Results, Rule, Severity, needs_steps_if_recorded
from ftlab.rules.words import at_steps, counted, number
from ftlab.runlog.run import Run

OFTEN = 4
"""Times that an update must be undone, or the weights be back."""

TWICE = 2
"""Evaluations that must have left their weights."""

MOST, SOME = 0.9, 0.05
"""Share of the way that is lost, from which it is a warning, and a note."""

Steps = NDArray[np.int64]


class UpdatesUndone(Rule):
    """Finds weights that are put back after the optimizer has moved them."""

    code = "MOD012"
    caused_by = ("EXP012",)
    requires = needs_steps_if_recorded(
        "weights_written",
        "what the weights are between two updates",
        "ftlab.watch(...) with its standard probes, for two steps at least",
    )

    def check(self, run: Run) -> Results:
        """Yield one finding: of the most that is undone."""
        if _is_meant(run):
            return
        for look in (self._put_back, self._at_first, self._by_evaluation):
            finding = look(run)
            if finding is not None:
                yield finding
                return

    def _put_back(self, run: Run) -> Finding | None:
        """Tell of updates of which nothing was left at the next one."""
        if "updates_compared" not in run.steps.columns:
            return None
        compared, back = run.steps["updates_compared"], run.steps["updates_put_back"]
        looked = compared > 0
        kept = np.flatnonzero((back < compared)[looked])
        steps = run.steps.step[looked][kept[-1] + 1 if len(kept) else 0 :]
        if len(steps) < OFTEN or excused(run).intersection(steps.tolist()):
            return None
        tried = bool(np.isin(steps, _evaluated(run)).any())
        return self.finding(
            Severity.INFO if tried else Severity.ERROR,
            f"{_at(steps)}: each checked update was undone before the next one: "
            f"{counted(int(back[looked][-1]), 'tensor')} returned to exactly their old "
            "values",
            cause="Something writes the old values into the weights after "
            "optimizer.step(): a copy that is restored, or a state that is loaded.",
            fix="Remove the code that copies values into the weights between two "
            "updates, or check the condition around it.",
            places={"call": ["optimizer.step", "copy_"]},
            steps=_span(steps),
            reason="put-back",
            evidence={"updates": len(steps), "threshold": OFTEN},
            healthy="each update starts from the weights that the last one left",
        )

    def _at_first(self, run: Run) -> Finding | None:
        """Tell of weights that are those of the first step, again and again."""
        written = run.steps["weights_written"] > 0
        home = written & (run.steps["back_at_first"] > 0)
        steps = run.steps.step[home]
        often = OFTEN <= len(steps) == written.sum() <= len(written) / 2
        if not often or excused(run).intersection(steps.tolist()):
            return None
        return self.warning(
            f"{_at(steps)}: the weights were exactly those of the first step again, "
            f"{counted(len(steps), 'time')}: everything learned before was lost",
            cause="A copy of the first weights is loaded into the model from time to "
            "time: an average that is never updated, or a state kept at the start.",
            fix="Update the average after each step, or remove the code that restores "
            "the copy.",
            places={"call": ["copy_", "load_state_dict"]},
            steps=_span(steps),
            reason="back-at-first",
            evidence={"times": len(steps), "threshold": OFTEN},
            healthy="weights are never again what they were at the first step",
        )

    def _by_evaluation(self, run: Run) -> Finding | None:
        """Tell of evaluations whose weights were trained on with."""
        if "left_by_evaluation" not in run.steps.columns:
            return None
        shares = run.steps["left_by_evaluation"]
        looked = ~np.isnan(shares)
        left = looked & (shares > 0)
        elsewhere = (run.steps["weights_written"] > 0) & ~left
        recent = shares[looked][-TWICE:]
        if len(recent) < TWICE or not (recent > 0).all() or elsewhere.any():
            return None
        steps, lost = run.steps.step[left], float(np.median(shares[left]))
        if lost < SOME or excused(run).intersection(steps.tolist()):
            return None
        return self.finding(
            Severity.WARNING if lost >= MOST else Severity.INFO,
            f"{_at(steps)}: training continued from the weights of an evaluation "
            f"instead of those of the last update, {counted(len(steps), 'time')}; "
            f"{lost:.0%} of the progress since the previous evaluation was lost each "
            "time",
            cause="Other weights, usually an average, were swapped in for the "
            "evaluation and not swapped out again.",
            fix="Save the weights before swapping and restore them when the evaluation "
            "is over, in a finally block.",
            places={"call": ["evaluate", "copy_"]},
            steps=_span(steps),
            reason="left-by-evaluation",
            evidence={
                "evaluations": len(steps),
                "lost": number(lost),
                "threshold": MOST,
            },
            healthy="after an evaluation the weights are bit-equal to those before",
        )


def excused(run: Run) -> set[int]:
    """Name the steps that begin a trial: another optimizer, or a state put in."""
    found = {entry.step + 1 for entry in optimizer_loads(run)}
    found |= {entry.step for entry in optimizer_loads(run)}
    seen: set[str] = set()
    for entry in run.ledger:
        if entry.op == "step" and entry.target not in seen:
            found.add(entry.step)
            seen.add(entry.target)
    return found


def _is_meant(run: Run) -> bool:
    """Tell whether what was learned has gone elsewhere before it was taken back."""
    merged = any(entry.op in ("merge", "unload") for entry in run.ledger)
    return merged or any(not change.by_rounding for change in changes_of(run))


def _evaluated(run: Run) -> list[int]:
    """List the steps before which the model was used without a graph."""
    if "left_by_evaluation" not in run.steps.columns:
        return []
    known = ~np.isnan(run.steps["left_by_evaluation"])
    return [int(step) for step in run.steps.step[known]]


def _span(steps: Steps) -> tuple[int, int]:
    return int(steps[0]), int(steps[-1])


def _at(steps: Steps) -> str:
    return at_steps(*_span(steps))
