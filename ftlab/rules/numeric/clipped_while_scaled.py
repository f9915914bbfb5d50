"""The rule NUM005, clipped-while-scaled.

## What it does
Finds gradients that are clipped while they are still multiplied by the loss scale.

## Why is this bad?
They are 65536 times too large then, so every clipping takes effect, and what it leaves
is divided by the scale afterwards: with a limit of 1 the update uses a gradient of norm
0.000015. SGD does not move, Adam's eps dominates, and nothing is raised.

## Evidence
The step ledger: a clipping whose parameters no `scaler.unscale_` has reached since the
backward of a scaled loss, that has shrunk finite gradients (factor below 0.99), before
an update that was made. Quiet:
- a limit that was multiplied by the scale, too (`max_norm * scaler.get_scale()`): above
  100 and at least a thousandth of the scale;
- a limit that was never reached: the norm is only read;
- gradients that were divided by the scale by hand.
Measured on a small Llama with LoRA, max_norm 1 and a scale of 65536: a norm of 5e4 was
found, and 1.5e-5 was left for the update; with `unscale_` first, 0.8 and 0.8.
By hand: print what `clip_grad_norm_` returns; it is in the ten thousands.

## What to try
1. `scaler.unscale_(optimizer)`, then `clip_grad_norm_`, then `scaler.step(optimizer)`.
2. With accelerate: `accelerator.clip_grad_norm_`, which does both.

## Known problems
Clipping by value is judged only at the steps at which a sample of what it cuts is read.

## References
- torch.amp, "Working with Unscaled Gradients"
- pytorch/examples#1196, milesial/Pytorch-UNet#468
- Lightning-AI/pytorch-lightning#9606
- suvojit-0x55aa/mixed-precision-pytorch#1 (a limit in units of the scale)
"""

from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.update_parts import (
    SHRUNK,
    by_step,
    factor_of,
    limit_of,
    may_clip,
    needs_clipping,
    updates_of,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

LARGE = 100.0
"""Limit above which it may be meant for scaled gradients."""

MEANT = 1e-3
"""Share of the scale from which on such a limit is."""


class ClippedWhileScaled(Rule):
    """Finds clippings of gradients that a scaler has not unscaled yet."""

    code = "NUM005"
    name = "clipped-while-scaled"
    since = "0.1.0"
    status = "preview"
    requires = (needs_clipping,)

    def applies(self, run: Run) -> bool:
        """Tell whether gradients are clipped, or nothing has been stepped yet."""
        return may_clip(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding over all updates."""
        scales = by_step(run, "loss_scale")
        wrong = [
            entry
            for update in updates_of(run)
            for entry in update.clips
            if _is_wrong(entry, scales.get(entry.step, 0.0))
        ]
        if wrong:
            yield self._finding(wrong, scales[wrong[-1].step])

    def _finding(self, wrong: Sequence[LedgerEntry], scale: float) -> Finding:
        first, last = wrong[0].step, wrong[-1].step
        limit, norm = limit_of(wrong[-1]), wrong[-1].detail.get("total_norm")
        found = f", from {number(norm)}" if norm is not None else ""
        true = f" (unscaled {number(norm / scale)})" if norm is not None else ""
        call = "clip_grad_norm_" if norm is not None else "clip_grad_value_"
        return self.finding(
            Severity.ERROR,
            f"{at_steps(first, last)}: gradients were clipped to "
            f"{number(limit)}{found}{true} while still multiplied by the loss scale "
            f"{number(scale)}: {number(limit / scale)} is left for the update",
            cause=f"{call} is called before scaler.unscale_(optimizer).",
            fix="Call scaler.unscale_(optimizer) first, then clip, then scaler.step.",
            places=[
                Place("call", f"{call} before unscale_"),
                Place("call", call),
                Place("config", "max_grad_norm"),
            ],
            steps=(first, last),
            evidence={
                "reason": "before-unscale",
                "limit": limit,
                "scale": scale,
                "left": limit / scale,
                "clippings": len(wrong),
                "threshold": SHRUNK,
            },
            healthy="gradients are unscaled before they are clipped",
        )


def _is_wrong(entry: LedgerEntry, scale: float) -> bool:
    """Tell whether a clipping took scaled gradients for true ones, and shrank them."""
    limit, norm = limit_of(entry), entry.detail.get("total_norm", 0.0)
    if not entry.detail.get("scaled") or scale <= 1.0 or not norm < float("inf"):
        return False
    shrunk = factor_of(entry) < SHRUNK or entry.detail.get("beyond", 0.0) > 1 - SHRUNK
    meant = limit > LARGE and limit >= MEANT * scale
    return shrunk and not meant
