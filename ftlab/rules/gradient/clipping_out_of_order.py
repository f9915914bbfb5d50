"""The rule GRD011, clipping-out-of-order.

## What it does
Finds gradients that are clipped at the wrong moment: after the optimizer has used them,
before backward has computed them, while they are still being accumulated, or while they
are still multiplied by the loss scale.

## Why is this bad?
Clipping is on and a norm is logged, but the update is not the clipped one. Clipped too
late, no update is limited. Clipped in each micro-batch, the last micro-batch outweighs
the first. Clipped while scaled, gradients are 65536 times too large, so every clipping
bites, and what it leaves is divided by the scale afterwards.

## Evidence
The order of calls. `after-step`, `before-backward`: all clipping calls come after the
last optimizer step or before the first backward, in 3 updates in a row; an error if the
norm that was measured of the update's gradients was above the limit in all of them, a
note otherwise. An infinite limit only reads the norm. `between-backwards`: each
backward of 3 updates in a row is followed by a clipping by norm that shrank the
gradients (factor below 0.99). Clipping group by group, or the gradient of one loss of
several, is fine. `before-unscale`: a clipping of gradients that no `scaler.unscale_`
has reached since the backward of a scaled loss, that shrank finite gradients, before an
update that was made. Limits above 100 and at least a thousandth of the scale are meant
for scaled gradients.
Measured on a small Llama with LoRA and SGD, the loss multiplied by 20, max_norm 1: four
updates came from norms of 23.3 to 43.9; with the two calls swapped, of 1. With a scale
of 65536, a norm of 5e4 was found and 1.5e-5 left for the update. On a small OPT with
four micro-batches and max_norm 0.005: three clippings too many in each of 12 updates,
with factors down to 0.05.
By hand: print a line at each `backward`, `unscale_`, `clip_grad_norm_` and `step`.

## What to try
1. Clip once per update, after its last `loss.backward()` and before `optimizer.step()`.
2. With a GradScaler: `scaler.unscale_(optimizer)`, clip, `scaler.step(optimizer)`.
3. With accelerate: `if accelerator.sync_gradients: accelerator.clip_grad_norm_(...)`.

## Known problems
Clipping by custom code is not seen. Clipping by value is judged while scaled only at
the steps at which a sample of what it cuts is read, and not while accumulating.

## References
- torch.nn.utils.clip_grad_norm_; torch.amp, "Working with Unscaled Gradients"
- accelerate, "Performing gradient accumulation"
- taesunwhang/UMS-ResSel#3, VGraphRNN/VGRNN#4, awslabs/graphstorm#1366 (after the step)
- simchowitzlabpublic/nano-world-model#22 (before backward)
- swathikirans/GSM#22, huggingface/diffusers#721, tenstorrent/tt-metal#17568 (in each
  micro-batch)
- pytorch/examples#1196, milesial/Pytorch-UNet#468, Lightning-AI/pytorch-lightning#9606
  (while scaled)
- suvojit-0x55aa/mixed-precision-pytorch#1 (a limit in units of the scale)
"""

from collections.abc import Sequence

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.method_place import method_place
from ftlab.rules.reading.update_parts import (
    SHRUNK,
    Update,
    by_step,
    factor_of,
    latest,
    limit_of,
    needs_clipping,
    updates_of,
)
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, number

UPDATES = 3
"""Updates in a row: one call out of order is no habit."""

LARGE = 100.0
"""Limit above which it may be meant for scaled gradients."""

MEANT = 1e-3
"""Share of the scale from which on such a limit is."""


class ClippingOutOfOrder(Rule):
    """Finds clippings that come too late, too early, too often or before unscaling."""

    code = "GRD011"
    requires = needs_clipping

    def check(self, run: Run) -> Results:
        """Yield one finding for each kind, over the latest updates."""
        updates = list(updates_of(run))
        if unfelt := latest(updates, _is_unfelt, UPDATES):
            yield self._unfelt(run, unfelt)
        if early := latest(updates, _is_clipped_on_the_way, UPDATES):
            yield self._early(early)
        scales = by_step(run, "loss_scale")
        clips = (entry for update in updates for entry in update.clips)
        scaled = [e for e in clips if _is_scaled(e, scales.get(e.step, 0.0))]
        if scaled:
            yield self._scaled(scaled, scales[scaled[-1].step])

    def _unfelt(self, run: Run, wrong: Sequence[Update]) -> Finding:
        first, last = wrong[0].step, wrong[-1].step
        norms = by_step(run, "grad_norm")
        limit = min(_limits(wrong[-1]))
        seen = [norms[update.step] for update in wrong if update.step in norms]
        above = bool(seen) and all(norm > limit for norm in seen)
        late = any(_is_late(update) for update in wrong)
        what = f"clip_grad_{wrong[-1].astray[-1].target or 'norm'}_"
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
            reason="after-step" if late else "before-backward",
            evidence={
                "updates": len(wrong),
                "limit": limit,
                "norm": max(seen, default=float("nan")),
                "threshold": UPDATES,
            },
            healthy="clipping right before the step: no update with a gradient norm "
            "above the limit",
        )

    def _early(self, wrong: Sequence[Update]) -> Finding:
        first, last = wrong[0].step, wrong[-1].step
        early = len(wrong[-1].between)
        factor = min(factor_of(e) for update in wrong for e in update.between)
        return self.warning(
            f"{at_steps(first, last)}: gradients were clipped {early} times before "
            f"each update was complete, down to {number(factor)} of the sum so far",
            cause="clip_grad_norm_ is called in the loop over micro-batches: the sum "
            "so far is shrunk again and again, and the last micro-batch outweighs the "
            "first.",
            fix="Clip once per update, after its last backward; with accelerate if "
            "accelerator.sync_gradients.",
            places={
                "call": "torch.nn.utils.clip_grad_norm_",
                "config": "max_grad_norm",
            },
            steps=(first, last),
            reason="between-backwards",
            evidence={
                "updates": len(wrong),
                "early_clips": early,
                "factor": factor,
                "threshold": UPDATES,
            },
            healthy="one clipping per update, right before optimizer.step()",
        )

    def _scaled(self, wrong: Sequence[LedgerEntry], scale: float) -> Finding:
        first, last = wrong[0].step, wrong[-1].step
        limit, norm = limit_of(wrong[-1]), wrong[-1].detail.get("total_norm")
        found = f", from {number(norm)}" if norm is not None else ""
        true = f" (unscaled {number(norm / scale)})" if norm is not None else ""
        call = "clip_grad_norm_" if norm is not None else "clip_grad_value_"
        return self.error(
            f"{at_steps(first, last)}: gradients were clipped to {number(limit)}{found}"
            f"{true} while still multiplied by the loss scale {number(scale)}: "
            f"{number(limit / scale)} is left for the update",
            cause=f"{call} is called before scaler.unscale_(optimizer).",
            fix="Call scaler.unscale_(optimizer) first, then clip, then scaler.step.",
            places={
                "call": [f"{call} before unscale_", call],
                "config": "max_grad_norm",
            },
            steps=(first, last),
            reason="before-unscale",
            evidence={
                "limit": limit,
                "scale": scale,
                "left": limit / scale,
                "clippings": len(wrong),
                "threshold": SHRUNK,
            },
            healthy="gradients are unscaled before they are clipped",
        )


def _limits(update: Update) -> list[float]:
    return [limit_of(each) for each in update.astray if limit_of(each) < float("inf")]


def _is_unfelt(update: Update) -> bool:
    """Tell whether all clippings came at a time at which they limit nothing."""
    return not update.clips and bool(_limits(update))


def _is_late(update: Update) -> bool:
    """Tell whether a clipping came after the step, and not before a backward."""
    first = update.backwards[0].index
    return any(each.index > first for each in update.astray)


def _is_clipped_on_the_way(update: Update) -> bool:
    """Tell whether a clipping shrank the gradients after each backward."""
    factors = [factor_of(entry) for entry in update.between]
    return update.clipped_each and bool(factors) and max(factors) < SHRUNK


def _is_scaled(entry: LedgerEntry, scale: float) -> bool:
    """Tell whether a clipping took scaled gradients for true ones, and shrank them."""
    limit, norm = limit_of(entry), entry.detail.get("total_norm", 0.0)
    if not entry.detail.get("scaled") or scale <= 1.0 or not norm < float("inf"):
        return False
    shrunk = factor_of(entry) < SHRUNK or entry.detail.get("beyond", 0.0) > 1 - SHRUNK
    meant = limit > LARGE and limit >= MEANT * scale
    return shrunk and not meant
