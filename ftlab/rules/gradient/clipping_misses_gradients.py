"""The rule GRD013, clipping-misses-gradients.

## What it does
Finds clipping calls on things that have no gradient, and clipping of only a part of the
trained parameters while the rest exceeds the limit.

## Why is this bad?
What is not passed to `clip_grad_norm_` is updated with its unclipped gradient, and its
norm does not count towards the total. The log shows a small, well-behaved norm, and the
one bad batch that clipping was meant for goes through.

## Evidence
What each clipping was called on, at the step: how many tensors, how many of them are
trained, and which trained ones no call has covered; with the gradient norm of each
before clipping. The reasons, in 3 updates in a row:
- `nothing`: no trained tensor was covered by any call, and nothing that a call was
  given had a gradient: an exhausted generator, copies (`p.data`, `p.grad` instead of
  `p`), the frozen model instead of the trained one. A warning.
- `first-group`: exactly the first parameter group of an optimizer with several was
  covered, and the other groups alone exceed the limit. A warning.
- `most`: one call per update covers fewer than half of the tensors of one optimizer,
  and no whole parameter group. In at least 8 updates, and in half of all of them, what
  is covered is clipped and the norm of the rest alone exceeds the limit. A warning.
- `part`: anything else, of one call per update, in which what was left out exceeds the
  limit. Info: some leave a part out on purpose.
Clipping a different model, which has gradients of its own, says nothing about this one.
Measured on a small Llama with LoRA, `parameters = filter(...)` given to AdamW first and
to clip_grad_norm_ after that: 0 tensors in every step, where the norm was 0.28 to 0.45.
The first group of two alone, limit 0.02: the other one had norms of up to 0.41. The
classifier of a small BERT alone, limit 1: the other 39 tensors had norms of 0.3 to 73,
above 1 in 16 of 20 updates.
By hand: `len(list(what_is_clipped))`, and the returned norm: it must not be 0.

## What to try
1. `parameters = [p for p in model.parameters() if p.requires_grad]`: a list can be
   iterated twice, a generator only once.
2. `clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], limit)`.
3. Build the list after the last layer was added, unfrozen or wrapped.

## Known problems
Where a part is clipped by custom code and the rest by torch, the part looks as if it
had been left out. A small part may be clipped alone on purpose: give it a parameter
group of its own.

## References
- pytorch/pytorch#148259 (an exhausted generator clips nothing)
- torch.nn.utils.clip_grad_norm_
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.cycles import times
from ftlab.rules.reading.tensors import params, records_of
from ftlab.rules.reading.update_parts import (
    SHRUNK,
    Update,
    factor_of,
    limit_of,
    may_clip,
    needs_clipping,
    updates_of,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps, counted, number
from ftlab.runlog.run import Run

UPDATES = 3
"""Updates in a row."""

LONG = 8
"""Updates, if not in a row, of which half must be alike."""


class _Part(NamedTuple):
    """What one update's clipping has left out."""

    step: int
    limit: float
    norm: float
    ids: tuple[int, ...]
    left_out: int
    trained: int
    first_group: bool
    most: bool


class ClippingMissesGradients(Rule):
    """Finds gradients that were to be clipped and were not handed over."""

    code = "GRD013"
    name = "clipping-misses-gradients"
    since = "0.1.0"
    status = "preview"
    requires = (needs_clipping,)

    def applies(self, run: Run) -> bool:
        """Tell whether gradients are clipped, or nothing has been stepped yet."""
        return may_clip(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding over the latest updates."""
        latest = list(updates_of(run))[::-1]
        idle = [*takewhile(_is_idle, latest)][::-1]
        if len(idle) >= UPDATES:
            yield self._nothing(idle)
            return
        partial = [*takewhile(_is_partial, latest)][::-1]
        if len(partial) < UPDATES:
            return
        parts = [_part(run, update) for update in partial]
        wrong = [*takewhile(lambda each: each.norm > each.limit, parts[::-1])][::-1]
        missed = [each for each in parts if each.most and each.norm > each.limit]
        if len(missed) >= LONG and 2 * len(missed) >= len(parts):
            yield self._partial(run, "most", missed)
        elif len(wrong) >= UPDATES:
            group = all(each.first_group for each in wrong)
            yield self._partial(run, "first-group" if group else "part", wrong)

    def _nothing(self, idle: Sequence[Update]) -> Finding:
        first, last, call = idle[0].step, idle[-1].step, idle[-1].idle[-1]
        given = int(call.detail.get("given", 0))
        of = int(call.detail.get("of", 0))
        what = f"clip_grad_{call.target}_"
        return self.finding(
            Severity.WARNING,
            f"{at_steps(first, last)}: {what} was given {counted(given, 'tensor')}, "
            f"none with a gradient; the {counted(of, 'tensor')} that the updates "
            "changed were not clipped",
            cause="The iterable passed to clipping is empty: a generator that is "
            "already exhausted."
            if not given
            else "The clipped tensors are not the trained ones: copies, or the "
            "parameters of a frozen model.",
            fix="Clip a list of the parameters that the optimizer holds.",
            places=[Place("call", what), Place("config", "max_grad_norm")],
            steps=(first, last),
            evidence={
                "reason": "nothing",
                "given": given,
                "trained": of,
                "updates": len(idle),
                "threshold": UPDATES,
            },
            healthy="every trained tensor is clipped",
        )

    def _partial(self, run: Run, word: str, wrong: Sequence[_Part]) -> Finding:
        first, last, shown = wrong[0].step, wrong[-1].step, wrong[-1]
        worst = max(each.norm for each in wrong)
        left = records_of(run, np.array(shown.ids, np.int32))
        return self.finding(
            Severity.INFO if word == "part" else Severity.WARNING,
            f"{at_steps(first, last)}: {shown.left_out} of {shown.trained} trained "
            f"tensors were left out of clipping; their norm alone was {number(worst)}, "
            f"above the limit of {number(shown.limit)}",
            cause=_CAUSES[word],
            fix="Clip the parameters of all groups, unless a part is left out on "
            "purpose.",
            places=[Place("call", "clip_grad_norm_"), *params(left)],
            steps=(first, last),
            evidence={
                "reason": word,
                "left_out": shown.left_out,
                "trained": shown.trained,
                "norm": worst,
                "limit": shown.limit,
                "threshold": UPDATES,
            },
            healthy="every trained tensor is clipped",
        )


_CAUSES = {
    "first-group": "Only the first parameter group of the optimizer is clipped.",
    "most": "clip_grad_norm_ is called on a small part of the trained parameters, such "
    "as the head.",
    "part": "clip_grad_norm_ is called on only a part of the trained parameters.",
}


def _is_idle(update: Update) -> bool:
    return bool(update.idle) and not (update.clips or update.astray)


def _is_partial(update: Update) -> bool:
    """Tell whether one call for a part is all that was clipped."""
    clips = update.clips
    if len(clips) != 1 or update.astray or times(clips[0]) > 1:
        return False
    return clips[0].target == "norm" and "left_out" in clips[0].detail


def _part(run: Run, update: Update) -> _Part:
    (clip,) = update.clips
    ids = tuple(int(row) for row in clip.detail["left_out"])
    groups = list(clip.detail.get("groups", ()))
    alone = len(run.facts.optimizers) == 1
    left, of = int(clip.detail["left_out_count"]), int(clip.detail["of"])
    return _Part(
        update.step,
        limit_of(clip),
        _norm(run, update.step, ids),
        ids,
        left,
        of,
        alone and len(groups) > 1 and bool(groups[0]) and not any(groups[1:]),
        alone and not any(groups) and 2 * left > of and factor_of(clip) < SHRUNK,
    )


def _norm(run: Run, step: int, ids: Sequence[int]) -> float:
    """Return the norm of the listed tensors' gradients; 0 where it is not known."""
    if "grad_l2" not in run.columns():
        return 0.0
    matrix = run.matrix("grad_l2", start=step, stop=step + 1)
    if not len(matrix.steps):
        return 0.0
    chosen = matrix.values[0][np.isin(matrix.ids, ids)].astype(np.float64)
    return float(np.sqrt(np.nansum(chosen * chosen)))
