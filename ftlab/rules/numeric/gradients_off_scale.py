"""The rule NUM006, gradients-off-scale.

## What it does
Finds updates whose gradients are not divided by what the loss was multiplied by: the
calls of a GradScaler are incomplete, or in the wrong order.

## Why is this bad?
The gradients are up to 65536 times too large or too small. Adam hides it, since it
divides by their size, until eps, clipping, weight decay or the first overflow matter.

## Evidence
The step ledger: of each backward, how often the graph of its loss holds a product that
`scaler.scale` has made; where `unscale_` was called; and whether `optimizer.step` ran
within `scaler.step`. Found in 2 updates at a scale other than 1.
- *stepped-past-scaler*: scaled losses, nothing unscaled, and `optimizer.step()` itself.
- *loss-not-scaled*: `scaler.step`, but backward ran on the original loss; the result of
  `scaler.scale` was discarded.
- *scaled-in-part*: some of the backwards of one update are scaled and others not.
- *scaled-twice*: the loss went through `scaler.scale` twice, of the same scaler or of
  two.
- *unscaled-too-early*: after `unscale_` further scaled losses were added.
- *updated-in-between*: `scaler.update()` ran after the backward and before a
  `scaler.step`: with two optimizers the second divides by a different scale, and the
  scale grows twice as fast. A warning if the scale changed there before an update that
  was made, else info. *unscaled-twice*, an error: `unscale_` had run before that
  `update()`, which makes torch forget it.
Quiet: gradients that were changed by hand before the step (they may have been divided),
losses that are multiplied by hand, and, but for *stepped-past-scaler* and the last two,
loops with several optimizers. Measured on a small Llama with a scale of 65536: gradient
norms of 5e4 or 1e-5 at the update, 0.8 where the order is right. Two optimizers, an
update after each and `growth_interval=3`: half the gradient at 8 of 24 updates of the
second, and a scale that grew from 256 to a million in 18 iterations.
By hand: `scaler.unscale_(optimizer)` and print a gradient norm, with and without it.

## What to try
1. `scaler.scale(loss).backward()` for each micro-batch; once per update, then,
   `unscale_` (for clipping), `scaler.step(optimizer)`, `scaler.update()`.
2. With accelerate: `accelerator.backward(loss)` and the prepared optimizer, without a
   scaler of your own.

## Known problems
A missing `scaler.update()` is not checked: torch raises at the next step. accelerate's
optimizers each call `update()` in their own `step`: with two of them in fp16 the order
is wrong in the library. One optimizer with two groups is not.

## References
- torch.amp, "Gradient accumulation": unscale_ and update once per effective batch
- pytorch/pytorch#36601, microsoft/Swin-Transformer#311
- torch.amp, "Working with Multiple Models, Losses, and Optimizers"
- huggingface/accelerate#439, galilai-group/stable-pretraining#333 (Lightning),
  neosr-project/neosr#9 (an update after each optimizer)
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.update_parts import by_step
from ftlab.rules.reasons.rescaled import Rescaled, rescaled_updates
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity, needs_operations
from ftlab.rules.words import at_steps, counted, number

UPDATES = 2
"""Updates with the same reason."""


class GradientsOffScale(Rule):
    """Finds updates from gradients that are not in true scale."""

    code = "NUM006"
    requires = needs_operations(
        "step", "an optimizer's step", "let it run for some steps"
    )

    def applies(self, run: Run) -> bool:
        """Tell whether losses are scaled, or nothing has been stepped yet."""
        scaled = bool(run.steps.known("loss_scale").any())
        return scaled or not len(run.steps)

    def check(self, run: Run) -> Results:
        """Yield one finding: of the reason that most updates have."""
        found: dict[str, list[int]] = {}
        scales = by_step(run, "loss_scale")
        for step, entries in groupby(run.ledger, key=lambda entry: entry.step):
            reason = _reason(list(entries))
            if reason and scales.get(step, 0.0) != 1.0:
                found.setdefault(reason, []).append(step)
        counts = Counter({reason: len(steps) for reason, steps in found.items()})
        for reason, count in counts.most_common(1):
            if count >= UPDATES:
                yield self._finding(reason, found[reason], scales)
        told = rescaled_updates(run)
        if len(told.found) >= UPDATES:
            yield self._rescaled(told)

    def _rescaled(self, told: Rescaled) -> Finding:
        first, last = told.found[0], told.found[-1]
        severity, what = Severity.INFO, "the scale has not changed there so far"
        if told.changed:
            severity = Severity.WARNING
            scaled, divided = told.changed[max(told.changed)]
            what = (
                f"in {len(told.changed)} of them gradients that were multiplied by "
                f"{number(scaled)} were divided by {number(divided)}"
            )
        if told.twice:
            severity = Severity.ERROR
            what = f"in {len(told.twice)} of them gradients were unscaled twice"
        return self.finding(
            severity,
            f"{at_steps(first, last)}: in {counted(len(told.found), 'update')} "
            f"scaler.update() ran before an optimizer had stepped, and {what}",
            cause="scaler.update() is called after each scaler.step(optimizer), "
            "instead of once after all of them.",
            fix="Call scaler.step for every optimizer, then scaler.update() once.",
            places={"call": ["scaler.update before scaler.step", "scaler.update"]},
            steps=(first, last),
            reason="unscaled-twice" if told.twice else "updated-in-between",
            evidence={
                "updates": len(told.found),
                "changed": len(told.changed),
                "threshold": UPDATES,
            },
            healthy="one scaler.update() after the last scaler.step",
        )

    def _finding(
        self, reason: str, steps: Sequence[int], scales: dict[int, float]
    ) -> Finding:
        what, cause, fix, places = _TOLD[reason]
        scale = scales.get(steps[-1], float("nan"))
        return self.error(
            f"{at_steps(steps[0], steps[-1])}: in {counted(len(steps), 'update')} "
            f"{what} (loss scale {number(scale)})",
            cause=cause,
            fix=fix,
            places={"call": places},
            steps=(steps[0], steps[-1]),
            reason=reason,
            evidence={"updates": len(steps), "scale": scale, "threshold": UPDATES},
            healthy="every loss scaled once, every gradient unscaled once",
        )


def _reason(entries: Sequence[LedgerEntry]) -> str:
    """Tell what is wrong with the first update of a step, ``""`` if nothing."""
    backs: list[int | None] = []
    unscaled = late = False
    targets = {e.target for e in entries if e.op in ("step", "skip")}
    for entry in entries:
        if entry.op == "zero_grad":
            backs, unscaled, late = [], False, False
        elif entry.op == "backward":
            backs.append(entry.detail.get("scaled"))
            late |= unscaled and backs[-1] == 1
        elif entry.op == "unscale" and not entry.detail.get("by_step"):
            unscaled = True
        elif entry.op == "step":
            if not backs or None in backs or entry.detail.get("by_hand"):
                return ""
            known = [each for each in backs if each is not None]
            if not entry.detail.get("scaler"):
                past = not unscaled and min(known) == 1
                return "stepped-past-scaler" if past else ""
            return _within_scaler(known, late=late) if len(targets) == 1 else ""
    return ""


def _within_scaler(backs: Sequence[int], *, late: bool) -> str:
    if max(backs) == 0:
        return "loss-not-scaled"
    if min(backs) == 0:
        return "scaled-in-part"
    if max(backs) > 1:
        return "scaled-twice"
    return "unscaled-too-early" if late else ""


_ORDER = "Scale each loss, unscale_ once before clipping, scaler.step, scaler.update."
_TOLD = {
    "stepped-past-scaler": (
        "optimizer.step() was called directly, with gradients that are still scaled",
        "The loss is scaled but scaler.step(optimizer) is not called: nothing unscales "
        "the gradients, and nothing skips an overflow.",
        "Call scaler.step(optimizer) instead of optimizer.step().",
        ("optimizer.step", "scaler.step"),
    ),
    "loss-not-scaled": (
        "scaler.step divided gradients of a loss that was not scaled",
        "backward is called on the loss instead of on scaler.scale(loss).",
        "scaler.scale(loss).backward().",
        ("loss.backward", "scaler.scale"),
    ),
    "scaled-in-part": (
        "only some of the losses were scaled",
        "Some of the backwards of an update run on a loss that did not go through the "
        "scaler: after unscaling their gradients are nearly 0.",
        "scaler.scale(loss).backward() for each of them.",
        ("loss.backward", "scaler.scale"),
    ),
    "scaled-twice": (
        "the loss was scaled twice and the gradients unscaled once",
        "The loss goes through scaler.scale twice: in the loop and in a library.",
        "Keep one of the two scalers.",
        ("scaler.scale",),
    ),
    "unscaled-too-early": (
        "scaled gradients were added after unscale_",
        "unscale_ is called while gradients are still accumulated: later micro-batches "
        "are added too large, by the loss scale.",
        _ORDER,
        ("scaler.unscale_", "scaler.update"),
    ),
}
