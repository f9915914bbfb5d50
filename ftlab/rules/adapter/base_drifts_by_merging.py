"""The rule ADP006, base-drifts-by-merging.

## What it does
Finds base weights that merge cycles have changed: `(W + dW) - dW` is no longer W,
because it was rounded twice.

## Why is this bad?
The error adds up over cycles, in weights that are frozen and that every adapter and
every reference pass relies on. A long run that merges to sync weights (GRPO with a
generation engine) slowly degrades, and no adapter is the cause.

## Evidence
A sample of up to 256 elements of each frozen weight, compared with what it was when the
weight was first seen frozen, after every merge cycle: its largest change relative to
its mean magnitude. It is reported from 1e-3 on, as info after one cycle and as a
warning from the second one on. A change above 8 epsilons of the dtype per cycle is more
than rounding and not reported here (see ADP004, ADP007). For 4-bit and 8-bit weights
any packed byte that changed counts.
Measured (AdamW, lr 1e-4 to 1e-2): one cycle changes float32 by 1e-7 to 3e-7, float16 by
5e-4 to 2e-3, bfloat16 by 4e-3 to 2e-2; 100 cycles float32 by 1e-5 at most, bfloat16 by
0.27 to 0.99. The change grows with the number of cycles, about 1 epsilon each.
By hand: `w0 = layer.base_layer.weight.clone()`, a cycle, then
`(layer.base_layer.weight - w0).abs().max() / w0.abs().mean()`.

## What to try
1. Sync only the adapter, where the engine can serve it.
2. Keep a copy of the base weights and restore it after each cycle.
3. Merge into a copy, or hold the base in float32.

## Known problems
One cycle in bf16 costs about one rounding and is harmless: the number of cycles counts.

## Known myths
*Merging and unmerging is lossless.* In float32 nearly: 1e-5 after 100 cycles. In bf16
not: 3 in 10 elements have changed after two cycles, 6 in 10 after ten.

## References
- huggingface/trl#6688 (drift over cycles, bf16 against float32)
- KohakuBlueleaf/LyCORIS#264
"""

from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.adapter_states import calls_of, may_have_adapters
from ftlab.rules.reading.frozen import Change, changes_of
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import counted, number
from ftlab.runlog.run import Run

DRIFT = 1e-3
"""Change relative to the mean magnitude from which on it is told."""

CYCLES = 2
"""Merge cycles from which on errors add up."""


class BaseDriftsByMerging(Rule):
    """Finds base weights that rounding has changed, cycle by cycle."""

    code = "ADP006"
    name = "base-drifts-by-merging"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_step_values(
            "frozen_compared",
            "a comparison of the frozen weights",
            "ftlab.watch(...) with its standard probes",
        ),
    )
    caused_by = ("ADP004",)

    def applies(self, run: Run) -> bool:
        """Tell whether the model has adapter layers."""
        return may_have_adapters(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all weights."""
        found = [
            each
            for each in changes_of(run)
            if each.layer
            and not each.tied
            and each.cycles
            and each.by_rounding
            and (each.quantized or each.relative >= DRIFT)
        ]
        if found:
            yield self._finding(run, found)

    def _finding(self, run: Run, found: Sequence[Change]) -> Finding:
        found = sorted(found, key=lambda each: -each.relative)
        worst, cycles = found[0], max(each.cycles for each in found)
        names = [each.name.name for each in found]
        share = max(each.share for each in found)
        dtype = "packed bytes" if worst.quantized else worst.name.dtype
        much = number(share if worst.quantized else worst.relative)
        size = "of the bytes" if worst.quantized else "of the mean magnitude"
        last = max(each.last for each in found)
        return self.finding(
            Severity.WARNING if cycles >= CYCLES else Severity.INFO,
            f"step {last}: {counted(cycles, 'merge cycle')} changed "
            f"{counted(len(found), 'frozen weight')} ({dtype}) by up to {much} {size}: "
            f"{in_words(names)}",
            cause=f"Adding the adapter's product to weights in {dtype} and subtracting "
            "it again rounds twice; the errors stay in the base and add up.",
            fix="Restore the base weights from a copy after each cycle, merge into a "
            "copy, sync only the adapter, or hold the base in float32.",
            places=[
                *(Place("param", name) for name in names),
                *(Place("call", c) for c in calls_of(run, "merge", "unmerge")),
            ],
            steps=(min(each.first for each in found), last),
            evidence={
                "cycles": cycles,
                "change": worst.relative,
                "changed_share": share,
                "weights": len(found),
                "dtype": dtype,
                "threshold": DRIFT,
            },
            healthy="a merge cycle changes float32 weights by 3e-7 of their mean "
            "magnitude",
        )
