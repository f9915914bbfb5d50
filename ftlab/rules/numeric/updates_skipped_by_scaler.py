"""The rule NUM004, updates-skipped-by-scaler.

## What it does
Finds GradScalers that skip update after update, and says whether the loss overflows,
the gradients do, the scale grows too often, or the scaler is recreated each time.

## Why is this bad?
A scaler skips each update whose gradients are not finite and halves its scale. Where
the scale is not the cause it halves for ever: the loop runs, the learning rate moves,
and no weight changes. A few skipped updates at the beginning are by design.

## Evidence
`skipped`, `loss_scale` and `loss` of each step, and `grad_max` of each tensor.
- *loss-overflows*: 3 skipped updates in a row whose loss, before it was scaled, is NaN
  or infinite. No scale can help there.
- *gradients-overflow*: at least 3 skipped updates in a row, the last at a scale of 1 or
  less, where the gradients are what they would be without a scaler. From 65536 that
  takes 16 halvings; a search that ends above 1 is healthy, however long it is.
- *made-anew*: 3 skipped updates by a scaler that made no other, each followed by an
  update of yet another new scaler at a scale that is not lower: what the overflow
  showed is lost. `scaler` is the number of each step's scaler. One for each optimizer,
  one per epoch, and one that is given the last one's scale are not reported.
- *grown-too-often*: since the first update that was made, at least 5 and a fifth of all
  were skipped one by one: the scale is doubled again as soon as it has been halved.
Measured on a small Llama with LoRA: a scaler begun at 2^24 skipped 5 updates and
settled; `growth_interval=10` skipped 8 %; a naive log-sum-exp in fp16 all, down to 0.06
after 20 steps; a new one at 2^26 in each step all 24, where one for all skipped 8. By
hand: print `scaler.get_scale()` after each `scaler.update()`, and
`torch.isfinite(loss)` before it.

## What to try
1. bf16 instead of fp16, without a scaler.
2. The op that overflows in float32: `ftlab.debug(...)` stops at it. Above 65504 fp16 is
   infinite, and so is `exp` above 11.09: use `logsumexp` and `log_softmax`.
3. `growth_interval` at its default of 2000.
4. One scaler, created before the loop, and its `state_dict` in the checkpoint.

## Known problems
Scalers of libraries other than torch are not seen. One that is recreated in each step
and never skips is not reported: it works like a constant scale.

## References
- torch.amp, "Gradient Scaling": `growth_interval`, `backoff_factor`
- NVIDIA/apex#715 (the scale falls to 1e-305), NVIDIA/apex#864 (one skip in 2000 steps
  is by design)
"""

from collections.abc import Sequence

import numpy as np

from ftlab.records.finding import Finding, Place
from ftlab.records.names import NameRecord
from ftlab.rules.reading.scaling_history import (
    Streak,
    forgotten_skips,
    scales_in_words,
    spoiled_at,
    streaks,
)
from ftlab.rules.reading.tensors import params
from ftlab.rules.reading.updates import skipped_steps
from ftlab.rules.rule import Results, Rule, Run, if_recorded, needs_step_values
from ftlab.rules.words import at_steps, in_words, number

IN_A_ROW = 3
"""Skipped updates in a row."""

SMALLEST = 1.0
"""Scale at which a skipped update is not the scale's fault."""

SHARE, TIMES = 0.2, 5
"""Share of the updates, and how many, that growing may not cost."""

_UPDATE = Place("call", "GradScaler.update")
_LOSS = Place("object", "loss")


class UpdatesSkippedByScaler(Rule):
    """Finds scalers that skip updates again and again."""

    code = "NUM004"
    requires = if_recorded(
        needs_step_values(
            "loss_scale",
            "the loss scale of each step",
            "watch the loop from before its first scaler.scale(loss) on",
        )
    )

    def check(self, run: Run) -> Results:
        """Yield one finding: of the longest row of skips, or of all of them."""
        found = streaks(run)
        longest = max(found, key=len, default=Streak(0, 0))
        table = run.steps
        rows = slice(longest.first, longest.stop)
        sick = ~np.isfinite(table["loss"][rows]) & table.known("loss")[rows]
        if len(longest) >= IN_A_ROW and sick.sum() >= IN_A_ROW:
            yield self._overflowing(run, longest, of_loss=True)
        elif len(longest) >= IN_A_ROW and _scale_at_end(run, longest) <= SMALLEST:
            yield self._overflowing(run, longest, of_loss=False)
        elif len(lost := forgotten_skips(run)) >= IN_A_ROW:
            yield self._made_anew(run, lost)
        elif (first := _first_made(run)) is not None:
            yield from self._grown(run, first)

    def _overflowing(self, run: Run, streak: Streak, *, of_loss: bool) -> Finding:
        table = run.steps
        scales = table["loss_scale"][streak.first : streak.stop]
        steps = int(table.step[streak.first]), int(table.step[streak.stop - 1])
        spoiled, count = spoiled_at(run, steps[1])
        loss = float(table["loss"][streak.stop - 1])
        what = f"the loss itself is {number(loss)}" if of_loss else "the loss is finite"
        return self.error(
            f"{at_steps(*steps)}: the scaler skipped {len(streak)} updates in a row, "
            f"its scale went {scales_in_words(scales)}, and {what}",
            cause=_cause(spoiled, count, of_loss=of_loss),
            fix="Compute the op that overflows in float32 (ftlab.debug stops at it), "
            "or train in bf16 without a scaler.",
            places=[_UPDATE, *([_LOSS] if of_loss else []), *params(spoiled[::-1])],
            steps=steps,
            reason="loss-overflows" if of_loss else "gradients-overflow",
            evidence={
                "skipped": len(streak),
                "scale": float(scales[-1]),
                "non_finite_tensors": len(spoiled),
                "threshold": IN_A_ROW,
            },
            healthy="a few skipped updates at the beginning, then one in 2000",
        )

    def _made_anew(self, run: Run, lost: list[int]) -> Finding:
        table = run.steps
        steps = int(table.step[lost[0]]), int(table.step[lost[-1]])
        scale = float(table["loss_scale"][lost[-1]])
        return self.warning(
            f"{at_steps(*steps)}: {len(lost)} updates were skipped, each by a new "
            f"scaler, and the next one started at {number(scale)} again",
            cause="GradScaler(...) is called within the loop: the scale that is halved "
            "after an overflow is lost, and the next update overflows too.",
            fix="Create the scaler once, before the loop.",
            places=[
                Place("call", "GradScaler"),
                _UPDATE,
                Place("config", "init_scale"),
            ],
            steps=steps,
            reason="made-anew",
            evidence={
                "skipped": len(lost),
                "scalers": int(table["scaler"][-1]) + 1,
                "threshold": IN_A_ROW,
            },
            healthy="one scaler, whose scale falls until updates are made",
        )

    def _grown(self, run: Run, first: int) -> Results:
        table, skipped = run.steps, skipped_steps(run)[first:]
        count, share = int(skipped.sum()), float(skipped.mean())
        if count < TIMES or share < SHARE:
            return
        scales = table["loss_scale"][first:]
        steps = int(table.step[first]), int(table.step[-1])
        yield self.warning(
            f"{at_steps(*steps)}: the scaler skipped {count} of {len(skipped)} "
            f"updates, with its scale between {number(np.nanmin(scales))} and "
            f"{number(np.nanmax(scales))}",
            cause="The scale grows again right after it was halved, until gradients "
            "overflow: growth_interval is too small, or growth_factor too large.",
            fix="Leave growth_interval at 2000 and growth_factor at 2.",
            places=[_UPDATE, Place("config", "growth_interval")],
            steps=steps,
            reason="grown-too-often",
            evidence={"skipped": count, "share": share, "threshold": SHARE},
            healthy="one skipped update in 2000",
        )


def _scale_at_end(run: Run, streak: Streak) -> float:
    return float(run.steps["loss_scale"][streak.stop - 1])


def _first_made(run: Run) -> int | None:
    """Return the row of the first update that was not skipped."""
    made = np.flatnonzero(~skipped_steps(run))
    return int(made[0]) if len(made) else None


def _cause(spoiled: Sequence[NameRecord], count: int, *, of_loss: bool) -> str:
    if of_loss:
        return (
            "The forward pass or the loss overflows (fp16 ends at 65504), so every "
            "gradient is non-finite at any scale: halving it cannot help."
        )
    if not spoiled:
        return "The gradients are not finite even at a scale of 1."
    words = (
        "The loss is finite, and even at a scale of 1 the gradients of "
        f"{len(spoiled)} of {count} tensors are not"
    )
    if len(spoiled) == count:
        return f"{words}: backward overflows at, or right below, the loss."
    last = in_words([spoiled[-1].name])
    return f"{words}. The last of them in the model, the first in backward, is {last}."
