"""The rule ADP009, merge-loses-adapter.

## What it does
Compares, at a real merge, the change in the base weights with what the adapter adds,
and finds merges that lose or distort it: above all into 4-bit weights.

## Why is this bad?
The adapter was good but the merged model is not: a weight in 4 bits has 16 values per
block, and a change smaller than the distance between two of them is dropped or doubled.
In 8 bits and bf16 the same happens to changes below half that distance.

## Evidence
16 whole rows of each merged layer's base weight before and after its first merge
(quantised ones expanded, a kernel flattened), against what the adapter adds to the same
rows: scaling x B A, and with DoRA the rows of W + B A made as long as the magnitude
says, less W. The L2 norm of what is wrong over that of what should have come. From 0.05
on for 4 bits, from 0.5 on for others.
Measured (rank 8, 8 steps of AdamW at lr 1e-4, 1e-3, 1e-2, the last one a very large
change): 4-bit 1.1, 1.0, 0.18, and 0.1 after 40 steps, with DoRA 1.1, 0.99, 0.17; 8-bit
0.7, 0.08, 0.008; bfloat16 0.2, 0.02, 0.002, convolutions 0.56, 0.06, 0.008, an
embedding 0.015, 0.003, 0.002; float16 0.02, 0.002, 0.0003; float32 2e-5 at most.
By hand: compare the logits before and after, relative to what the adapter does:
`(merged - adapted).norm() / (adapted - base).norm()`.

## What to try
1. Load the base in 16 bits and merge there, or call `model.dequantize()` before
   get_peft_model.
2. Keep the adapter separate and serve it like that.

## Known problems
Not measured: LoRA variants that PEFT merges differently, DoRA together with other
adapters in one merge, experts that share one parameter, and 4-bit weights that were
packed for a CPU (see MOD001).

## Known myths
*Merging into 4 bits only rounds a little.* Relative to the weight, yes; relative to the
adapter's change the error is as large as the change itself at ordinary learning rates.

*A merge while the adapter is disabled merges nothing, and a second one merges twice.*
With peft 0.21.2 `merge_and_unload()` within `disable_adapter()`, or after
`disable_adapter_layers()`, gives exactly what it gives otherwise (largest difference of
the logits 0), and merging again changes nothing, with a warning. What does unmerge is a
forward within `disable_adapter()`: `unload()` after it gives the base model, while
`merge_and_unload()` merges anew.

## References
- huggingface/peft#2321, #2502, #1388
- huggingface/trl#5188, #3466 (rounding of QLoRA merges in weight sync)
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.records.names import NameRecord
from ftlab.rules.reading.adapter_states import calls_of
from ftlab.rules.rule import Rule, needs_facts
from ftlab.rules.words import counted, number
from ftlab.runlog.run import Run

LOST_4BIT = 0.05
"""Error over what the adapter adds from which on a merge into 4 bits is told."""

LOST = 0.5
"""The same for weights in 8 bits and in floating point: half of it is lost."""

TABLE = "merges"

_FIX = (
    "Merge into the base in 16 or 32 bits (reload it, or model.dequantize()), or keep "
    "the adapter separate."
)
_FIX_FLOAT = (
    "Merge in float32 (model.float() before the merge) and keep the result in float32, "
    "or keep the adapter separate."
)


class MergeLosesAdapter(Rule):
    """Finds merges of which the adapter does not come out whole."""

    code = "ADP009"
    name = "merge-loses-adapter"
    since = "0.1.0"
    status = "stable"
    caused_by = ("MOD001",)
    requires = (
        needs_facts("model", "facts of the model", "ftlab.watch(model, optimizer)"),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether a merge was measured, or nothing is known yet."""
        return TABLE in run.tables() or not len(run.steps)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all layers."""
        if TABLE not in run.tables():
            return
        error, delta = run.matrix("error_l2", TABLE), run.matrix("delta_l2", TABLE)
        names, found = run.names(TABLE), []
        for column, row in enumerate(error.ids.tolist()):
            seen = np.flatnonzero(error.known[:, column])
            if not len(seen) or row not in names:
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = error.values[seen, column] / delta.values[seen, column]
            ratio, meta = float(np.nanmax(ratios, initial=0.0)), names[row].meta
            if ratio >= _bound(meta) and not meta.get("packed"):
                steps = error.steps[seen]
                found.append((ratio, names[row], int(steps[0]), int(steps[-1])))
        if found:
            yield self._finding(run, found)

    def _finding(
        self, run: Run, found: Sequence[tuple[float, NameRecord, int, int]]
    ) -> Finding:
        found = sorted(found, key=lambda each: -each[0])
        ratio, worst = found[0][:2]
        names = [name.name for _, name, _, _ in found]
        dtype = str(worst.meta.get("dtype", ""))
        calls = calls_of(run, "unload", "merge") or ["merge_adapter"]
        last = max(each[3] for each in found)
        return self.finding(
            Severity.WARNING,
            f"step {last}: {calls[0]} into {dtype} weights of "
            f"{counted(len(found), 'layer')}: the result is off by {number(ratio)} "
            f"times what the adapter adds: {in_words(names)}",
            cause=f"The sum was rounded to {dtype} again: what the adapter adds is no "
            "larger than the distance between two values that the weight can take.",
            fix=_FIX if worst.meta.get("quantized") else _FIX_FLOAT,
            places=[
                *(Place("module", name) for name in names),
                *(Place("call", call) for call in calls),
            ],
            steps=(min(each[2] for each in found), last),
            evidence={
                "reason": "rounding",
                "error": ratio,
                "layers": len(found),
                "threshold": _bound(worst.meta),
            },
            healthy="an error of 1e-6 when merging into float32; in bf16 0.2 of a "
            "small change",
        )


def _bound(meta: Mapping[str, object]) -> float:
    """Return the bound of a layer; of older records only 4-bit ones are quantised."""
    bits = meta.get("bits", 4 if meta.get("quantized") else 0)
    return LOST_4BIT if bits == 4 else LOST
