"""The rule GRD012, clipped-one-by-one.

## What it does
Finds loops that call `clip_grad_norm_` on each parameter separately, where the limit
was meant for all of them together.

## Why is this bad?
Each tensor with a large gradient is shrunk to the same norm, and small ones are left as
they are. So the update no longer points where the gradient does: what should learn most
learns as much as anything else, and with n tensors the total norm can still be
sqrt(n) times the limit.

## Evidence
Clippings of one tensor each, with one limit, between the last backward and the step:
4 at least, and half of all trained tensors; and the norm of each tensor's gradient
before it. From these follow the norm of all gradients after clipping and the cosine
between the gradient before and after. Found in 3 updates in a row in which the norm was
still above 1.05 times the limit and the cosine below 0.99. Clipping a few groups, or a
single delicate parameter, is not reported, nor is a limit that no tensor reaches.
Measured on a small Llama with LoRA on every linear layer, the loss multiplied by 20,
limit 1: norms of 3.2 to 3.9 after clipping and cosines of 0.59 to 0.77 in six updates;
clipped together 1 and 1.
By hand: keep `torch.cat([p.grad.flatten() for p in parameters]).clone()` before and
after clipping; `torch.nn.functional.cosine_similarity(before, after, 0)` must be 1.

## What to try
1. `torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)`, once, for all.
2. To bound single tensors, adaptive clipping (AGC) measures each against its own
   weights.

## Known problems
Some recipes clip tensor by tensor on purpose (DINO does, with custom code, which is not
seen). Nothing in the run tells such a recipe from a loop around the wrong call.

## References
- torch.nn.utils.clip_grad_norm_ (one norm for all that it is given)
- clab/dynet#1374 (16 parameters, limit 1: a norm of 4)
- NYUMedML/headCT_foundation#3 (DINO's way, on purpose)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.tensors import params, records_of
from ftlab.rules.reading.update_parts import (
    Update,
    calls,
    limit_of,
    may_clip,
    needs_clipping,
    updates_of,
)
from ftlab.rules.rule import Rule, needs_column
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

UPDATES = 3
"""Updates in a row."""

FEWEST = 4
"""Tensors that must have been clipped by themselves."""

SHARE = 0.5
"""Share of the trained tensors that must have been."""

ABOVE = 1.05
"""Norm of all gradients after clipping, in limits, above which the limit failed."""

TURNED = 0.99
"""Cosine below which the direction has changed."""


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


class ClippedOneByOne(Rule):
    """Finds clippings whose limit holds for each tensor and not for all."""

    code = "GRD012"
    name = "clipped-one-by-one"
    since = "0.1.0"
    status = "preview"
    requires = (
        needs_clipping,
        needs_column("grad_l2", "the gradient norm of every tensor", "ftlab.watch"),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether gradients are clipped, or nothing has been stepped yet."""
        return may_clip(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding over the latest updates."""
        limits = {
            update.step: limit_of(update.clips[0])
            for update in takewhile(_is_single, reversed(list(updates_of(run))))
        }
        if len(limits) < UPDATES:
            return
        effects = _effects(run, limits)
        wrong = [*takewhile(lambda each: each.wrong, effects[::-1])][::-1]
        if len(wrong) >= UPDATES:
            yield self._finding(run, wrong)

    def _finding(self, run: Run, wrong: Sequence[_Effect]) -> Finding:
        first, last = wrong[0].step, wrong[-1].step
        worst = max(wrong, key=lambda each: each.norm)
        rows = np.array([worst.largest], np.int32)
        return self.finding(
            Severity.WARNING,
            f"{at_steps(first, last)}: clip_grad_norm_ was called on each tensor "
            f"separately with {number(worst.limit)}: the total gradient norm was still "
            f"{number(worst.norm)}, and the direction had changed (cosine "
            f"{number(worst.cosine)})",
            cause="clip_grad_norm_ is called in a loop over the parameters: each "
            "tensor is scaled down to the limit, whatever its share of the whole "
            "gradient.",
            fix="Call clip_grad_norm_ once, with all parameters.",
            places=[
                Place("call", "clip_grad_norm_"),
                *params(records_of(run, rows)),
            ],
            steps=(first, last),
            evidence={
                "reason": "one-by-one",
                "updates": len(wrong),
                "limit": worst.limit,
                "norm": worst.norm,
                "cosine": worst.cosine,
                "threshold": ABOVE,
            },
            healthy="one call for all parameters: a norm of at most the limit, and a "
            "cosine of 1",
        )


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
