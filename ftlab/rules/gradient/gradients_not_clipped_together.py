"""The rule GRD013, gradients-not-clipped-together.

## What it does
Finds updates whose gradients are not clipped once, all together, to one limit: a part
of them or none is handed to clipping, each is clipped by itself, or all are clipped
twice.

## Why is this bad?
What is not passed to `clip_grad_norm_` is updated with its unclipped gradient, and does
not count towards the norm: the log shows a small, well-behaved one, and the one bad
batch that clipping was meant for goes through. Clipped one by one, each tensor with a
large gradient is shrunk to the same norm and small ones are left as they are: the
update no longer points where the gradient does, and with n tensors the total norm can
still be sqrt(n) times the limit. Of two limits the smaller wins, and changing the other
one (the Trainer's `max_grad_norm`, or the loop's) has no effect.

## Evidence
What each clipping between the last backward and the step was called on: how many
tensors, how many of them are trained, which trained ones no call has covered; with the
gradient norm of each before clipping. In 3 updates in a row:
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
- `one-by-one`: clippings of one tensor each, with one limit, 4 at least and half of all
  trained tensors. The norm of all gradients after clipping was still above 1.05 times
  the limit, and the cosine between the gradient before and after below 0.99. A few
  groups, or a single delicate parameter, are not reported.
- `two-limits`: at least two clippings of all trained parameters by the same kind of
  norm, with finite limits that differ, and a gradient norm above the larger of them:
  each would have clipped on its own. The same limit twice changes nothing, and a limit
  that is never reached is a way to read the norm.
Clipping a different model, which has gradients of its own, says nothing about this one.
Measured on a small Llama with LoRA: `parameters = filter(...)` given to AdamW first and
to clip_grad_norm_ after that gave 0 tensors in every step, where the norm was 0.28 to
0.45; with the first group of two alone, limit 0.02, the other one had norms of up to
0.41. On the classifier of a small BERT alone, limit 1, the other 39 tensors had norms
of 0.3 to 73, above 1 in 16 of 20 updates. One by one, the loss multiplied by 20, limit
1: norms of 3.2 to 3.9 after clipping and cosines of 0.59 to 0.77 in six updates;
together 1 and 1. In a Trainer with max_grad_norm 0.05 and a callback that clips to
0.01, norms of 0.31 to 0.44 became 0.05 and then 0.01. By hand: print a line at each
`clip_grad_norm_` with its limit, `len(list(what is clipped))` and what it returns; it
must not be 0.

## What to try
1. `parameters = [p for p in model.parameters() if p.requires_grad]`: a list can be
   iterated twice, a generator only once. Build it after the last layer was added,
   unfrozen or wrapped.
2. `torch.nn.utils.clip_grad_norm_(parameters, max_norm)`, once, for all, in one place.
   With a Trainer that is `max_grad_norm`; 0 switches it off.
3. To bound single tensors, adaptive clipping (AGC) measures each against its own
   weights.

## Known problems
Where a part is clipped by custom code and the rest by torch, the part looks as if it
had been left out. A small part may be clipped alone on purpose: give it a parameter
group of its own. Some recipes clip tensor by tensor on purpose (DINO does, with custom
code, which is not seen), and some lower a second limit while the first stays.

## References
- torch.nn.utils.clip_grad_norm_ (one norm for all that it is given)
- transformers, `TrainingArguments.max_grad_norm`
- pytorch/pytorch#148259 (an exhausted generator clips nothing)
- clab/dynet#1374 (16 parameters one by one, limit 1: a norm of 4)
- NYUMedML/headCT_foundation#3 (DINO's way, on purpose)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ftlab.rules.reading.cycles import times
from ftlab.rules.reading.tensors import records_of
from ftlab.rules.reading.update_parts import (
    SHRUNK,
    Update,
    by_step,
    calls,
    covers_all,
    factor_of,
    latest,
    limit_of,
    needs_clipping,
    updates_of,
)
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, number

UPDATES = 3
"""Updates in a row."""

LONG = 8
"""Updates, if not in a row, of which half must be alike."""

FEWEST, SHARE = 4, 0.5
"""Tensors clipped by themselves, and which share of the trained ones they must be."""

ABOVE, TURNED = 1.05, 0.99
"""Norm after clipping, in limits, and the cosine, which show that the limit failed."""

HEALTHY = "one clipping per update of all trained tensors together"


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


@dataclass(frozen=True, slots=True)
class _Effect:
    """What clipping one by one has made of the gradient of a step."""

    step: int
    limit: float
    norm: float
    cosine: float
    largest: int

    @property
    def wrong(self) -> bool:
        return self.norm > ABOVE * self.limit and self.cosine < TURNED


class GradientsNotClippedTogether(Rule):
    """Finds gradients that are clipped in parts, not at all, or twice."""

    code = "GRD013"
    requires = needs_clipping

    def check(self, run: Run) -> Results:
        """Yield one finding at most: updates are clipped in one way."""
        updates = list(updates_of(run))
        norms = by_step(run, "grad_norm")

        def is_twice(update: Update) -> bool:
            limits = _limits(update)
            above = norms.get(update.step, 0.0) > max(limits, default=float("inf"))
            return len(limits) > 1 and above

        if idle := latest(updates, _is_idle, UPDATES):
            yield self._nothing(idle)
        elif partial := latest(updates, _is_partial, UPDATES):
            yield from self._partly(run, [_part(run, update) for update in partial])
        elif single := latest(updates, _is_single, UPDATES):
            limits = {update.step: limit_of(update.clips[0]) for update in single}
            if wrong := latest(_effects(run, limits), lambda each: each.wrong, UPDATES):
                yield self._singly(run, wrong)
        elif twice := latest(updates, is_twice, UPDATES):
            yield self._twice(twice, [norms[update.step] for update in twice])

    def _partly(self, run: Run, parts: Sequence[_Part]) -> Results:
        missed = [each for each in parts if each.most and each.norm > each.limit]
        if len(missed) >= LONG and 2 * len(missed) >= len(parts):
            yield self._partial(run, "most", missed)
        elif wrong := latest(parts, lambda each: each.norm > each.limit, UPDATES):
            group = all(each.first_group for each in wrong)
            yield self._partial(run, "first-group" if group else "part", wrong)

    def _nothing(self, idle: Sequence[Update]) -> Finding:
        first, last, call = idle[0].step, idle[-1].step, idle[-1].idle[-1]
        given = int(call.detail.get("given", 0))
        of = int(call.detail.get("of", 0))
        what = f"clip_grad_{call.target}_"
        return self.warning(
            f"{at_steps(first, last)}: {what} was given {counted(given, 'tensor')}, "
            f"none with a gradient; the {counted(of, 'tensor')} that the updates "
            "changed were not clipped",
            cause="The iterable passed to clipping is empty: a generator that is "
            "already exhausted."
            if not given
            else "The clipped tensors are not the trained ones: copies, or the "
            "parameters of a frozen model.",
            fix="Clip a list of the parameters that the optimizer holds.",
            places={"call": what, "config": "max_grad_norm"},
            steps=(first, last),
            reason="nothing",
            evidence={
                "given": given,
                "trained": of,
                "updates": len(idle),
                "threshold": UPDATES,
            },
            healthy=HEALTHY,
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
            places={"call": "clip_grad_norm_", "param": [name.name for name in left]},
            steps=(first, last),
            reason=word,
            evidence={
                "left_out": shown.left_out,
                "trained": shown.trained,
                "norm": worst,
                "limit": shown.limit,
                "threshold": UPDATES,
            },
            healthy=HEALTHY,
        )

    def _singly(self, run: Run, wrong: Sequence[_Effect]) -> Finding:
        first, last = wrong[0].step, wrong[-1].step
        worst = max(wrong, key=lambda each: each.norm)
        rows = np.array([worst.largest], np.int32)
        return self.warning(
            f"{at_steps(first, last)}: clip_grad_norm_ was called on each tensor "
            f"separately with {number(worst.limit)}: the total gradient norm was still "
            f"{number(worst.norm)}, and the direction had changed (cosine "
            f"{number(worst.cosine)})",
            cause="clip_grad_norm_ is called in a loop over the parameters: each "
            "tensor is scaled down to the limit, whatever its share of the whole "
            "gradient.",
            fix="Call clip_grad_norm_ once, with all parameters.",
            places={
                "call": "clip_grad_norm_",
                "param": [name.name for name in records_of(run, rows)],
            },
            steps=(first, last),
            reason="one-by-one",
            evidence={
                "updates": len(wrong),
                "limit": worst.limit,
                "norm": worst.norm,
                "cosine": worst.cosine,
                "threshold": ABOVE,
            },
            healthy=HEALTHY,
        )

    def _twice(self, wrong: Sequence[Update], norms: Sequence[float]) -> Finding:
        first, last = wrong[0].step, wrong[-1].step
        limits = _limits(wrong[-1])
        told = " and to ".join(map(number, limits))
        return self.warning(
            f"{at_steps(first, last)}: all gradients were clipped to {told} before "
            f"each update, from norms of up to {number(max(norms))}: only "
            f"{number(min(limits))} has an effect",
            cause="Gradients are clipped in two places: the loop and a callback, or a "
            "Trainer that clips as well.",
            fix="Clip in one place, to one limit.",
            places={"call": "clip_grad_norm_", "config": "max_grad_norm"},
            steps=(first, last),
            reason="two-limits",
            evidence={
                "smaller": min(limits),
                "larger": max(limits),
                "updates": len(wrong),
                "threshold": UPDATES,
            },
            healthy=HEALTHY,
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


def _is_single(update: Update) -> bool:
    """Tell whether single tensors were clipped, most of them, to one limit."""
    clips = update.clips
    if not clips or any(each.target != "norm" for each in clips):
        return False
    if any(each.detail.get("count") != 1 for each in clips):
        return False
    fewest = max(FEWEST, SHARE * float(clips[0].detail.get("of", 0)))
    return calls(clips) >= fewest and len({limit_of(each) for each in clips}) == 1


def _effects(run: Run, limits: Mapping[int, float]) -> list[_Effect]:
    """Compute what clipping each tensor has made of the gradient, step by step."""
    matrix = run.matrix("grad_l2", start=min(limits), stop=max(limits) + 1)
    found = []
    for step, before in zip(matrix.steps.tolist(), matrix.values, strict=True):
        norms = np.where(np.isnan(before), 0.0, before.astype(np.float64))
        if step not in limits or not np.isfinite(norms).all() or not norms.any():
            continue
        after = np.minimum(norms, limits[step])
        whole = float(np.linalg.norm(after))
        cosine = float(norms @ after / (np.linalg.norm(norms) * whole))
        largest = int(matrix.ids[norms.argmax()])
        found.append(_Effect(step, limits[step], whole, cosine, largest))
    return found


def _limits(update: Update) -> list[float]:
    """Return the different finite limits to which all gradients were clipped."""
    clips = [e for e in update.clips if e.target == "norm" and covers_all(e)]
    if any(each.detail.get("scaled") for each in clips):
        return []
    if len({each.detail.get("norm_type") for each in clips}) > 1:
        return []
    limits = dict.fromkeys(map(limit_of, clips))
    return [limit for limit in limits if limit < float("inf")]
