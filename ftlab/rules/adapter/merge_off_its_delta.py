"""The rule ADP009, merge-off-its-delta.

## What it does
Finds base weights into which something other was merged than what the adapter adds: by
custom code (B A without its scaling, with the wrong one, several times, or transposed),
or by PEFT into weights that lose or distort it, above all 4-bit ones.

## Why is this bad?
The model that was evaluated is W + scaling x B A. What is saved or served is different:
too weak, too strong, or with a change of the right size in the wrong places. Shapes
fit, and nothing warns about it. A weight in 4 bits has 16 values per block, and a
change smaller than the distance between two of them is dropped or doubled; in 8 bits
and bf16 the same happens to changes below half that distance.

## Evidence
*rounding*: 16 whole rows of each merged layer's base weight before and after its first
real merge (quantised ones expanded, a kernel flattened), against what the adapter adds
to the same rows: scaling x B A, and with DoRA the rows of W + B A made as long as the
magnitude says, less W. The L2 norm of what is wrong over that of what should have come.
From 0.05 on for 4 bits, from 0.5 on for others.
Measured (rank 8, 8 steps of AdamW at lr 1e-4, 1e-3, 1e-2, the last one a very large
change): 4-bit 1.1, 1.0, 0.18, and 0.1 after 40 steps, with DoRA 1.1, 0.99, 0.17; 8-bit
0.7, 0.08, 0.008; bfloat16 0.2, 0.02, 0.002, convolutions 0.56, 0.06, 0.008, an
embedding 0.015, 0.003, 0.002; float16 0.02, 0.002, 0.0003; float32 2e-5 at most.

Merges by hand: 256 elements of each weight under a LoRA layer, against what they were
at the last look; what PEFT itself merges and unmerges is added to these. The change is
regressed on the same elements of scaling x B A, of each adapter and of all together.
Looked at is one weight in turn before each update and in evaluations, and all of them
after one has changed so, when a whole model is saved, and at the end. A change counts
where at most 0.4 of its norm is left unexplained, and a factor is one of these within
2 % and a quarter of what is left:
- *unscaled*: 1 / scaling, which is B A alone.
- *unrooted*: alpha / r where the scaling is alpha / sqrt(r), as rsLoRA has it.
- *repeated*: 2, 3, ... or the scaling itself, which was multiplied by once too often;
  what PEFT has merged counts.
- *transposed*: (scaling x B A)^T explains it, in a square weight.
- *other*: any other factor. Info: merging at a strength of 0.7 is intentional.
Measured (widths 64, 512 and 2048, rank 8, 20 seeds): in float32 at most 0.0006 is left
and factors are exact to 1e-4; in fp16 0.005, 0.05, 0.16, 0.44 where 1 in 20, 200, 700
and 2000 of the weight's norm is added, in bf16 0.04, 0.36, 0.75, 0.94. Factors are off
by 0.5 %, 1 % and 5 % at 0.04, 0.16 and 0.36; beyond that rounding swallows changes, and
nothing is reported. A base that was trained beside its adapter (3 families, ranks 1 to
32 of 64) leaves 0.72 and more.
By hand: `C = W_after - W_before; D = layer.get_delta_weight("default")`;
`(C * D).sum() / D.square().sum()` must be 1. Or compare the logits:
`(merged - adapted).norm() / (adapted - base).norm()`.

## What to try
1. `model.merge_and_unload()`, which handles scaling, orientation and variants.
2. `W += layer.get_delta_weight(name)`: it includes scaling and orientation. It is
   `layer.scaling[name] * B @ A`, transposed where `layer.fan_in_fan_out` is set.
3. Reload the base weights before merging again.
4. *rounding*: load the base in 16 bits and merge there, or call `model.dequantize()`
   before get_peft_model; or keep the adapter separate and serve it like that.

## Known problems
A strength that was chosen and happens to be one of these factors (half of an adapter
whose scaling is 2) looks the same, and is reported. Not measured: LoRA variants that
PEFT merges differently, DoRA together with other adapters in one merge, experts that
share one parameter, and 4-bit weights that were packed for a CPU (see MOD001). Of
merges by hand, too: DoRA, quantised weights, weights that are trained themselves,
adapters that were set back to 0 right after the merge, factors that no optimizer holds
any more after `unload()`, and merges into a copy of the model. Merging one of several
adapters, and not the others, may be intended: nothing is reported.

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
- hao-ai-lab/FastVideo#870 (merged without alpha / r)
- NVIDIA/TensorRT-LLM#1668 (alpha / r instead of alpha / sqrt(r))
- predibase/lorax#106, axolotl-ai-cloud/axolotl#3095 (GPT-2 and fan_in_fan_out)
- jingyaogong/minimind#598 (W += B A, and again at each call)
- huggingface/peft#2321, #2502, #1388, huggingface/trl#5188, #3466 (rounding)
"""

import statistics
from collections.abc import Mapping, Sequence

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.adapter_states import calls_of, may_have_adapters
from ftlab.rules.reading.hand_merges import EXACT, HandMerge, Kind, hand_merges, kind_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity, needs_facts
from ftlab.rules.words import counted, in_words, number

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


_Rounded = tuple[float, NameRecord, int, int]


class MergeOffItsDelta(Rule):
    """Finds merges that add something else than the adapter."""

    code = "ADP009"
    status = "stable"
    caused_by = ("EXP016", "MOD001")
    requires = needs_facts(
        "model", "facts of the model", "ftlab.watch(model, optimizer)"
    )

    def applies(self, run: Run) -> bool:
        """Tell whether the model has adapter layers, or a merge was measured."""
        return may_have_adapters(run) or TABLE in run.tables()

    def check(self, run: Run) -> Results:
        """Yield one finding for what was rounded, and one for each adapter."""
        if rounded := _rounded(run):
            yield self._lost(run, rounded)
        told: set[str] = set()
        for seen in hand_merges(run):
            kind, layers = kind_of(seen)
            # Added again by each evaluation while it is on: ADP023 tells it.
            on = kind in ("repeated", "other") and any(each.live for each in layers)
            if kind != "right" and not on and layers[0].adapter not in told:
                told.add(layers[0].adapter)
                yield self._finding(kind, layers)

    def _finding(self, kind: Kind, layers: Sequence[HandMerge]) -> Finding:
        first, step = layers[0], layers[0].step
        names = [f"{each.module}.base_layer.weight" for each in layers]
        factor = statistics.median(each.factor for each in layers)
        shape = "the transpose of " if kind == "transposed" else ""
        return self.finding(
            Severity.INFO if kind == "other" else Severity.WARNING,
            f"step {step}: {counted(len(names), 'base weight')} "
            f"{'contains' if len(names) == 1 else 'contain'} {number(factor)} times "
            f"{shape}what the adapter {first.adapter!r} adds: {in_words(names)}",
            cause=_cause(kind, first),
            fix="Reload the base and use merge_and_unload(), or add "
            "layer.get_delta_weight(name) once: it includes the scaling and has the "
            "weight's orientation.",
            places={"param": names},
            steps=(step, step),
            reason=kind,
            evidence={
                "factor": factor,
                "right": 1.0,
                "scaling": first.scaling,
                "left": max(each.off for each in layers),
                "layers": len(names),
                "threshold": EXACT,
            },
            healthy="a merge adds scaling x B A once: the factor is 1",
        )

    def _lost(self, run: Run, found: Sequence[_Rounded]) -> Finding:
        found = sorted(found, key=lambda each: -each[0])
        ratio, worst = found[0][:2]
        names = [name.name for _, name, _, _ in found]
        dtype = str(worst.meta.get("dtype", ""))
        calls = calls_of(run, "unload", "merge") or ["merge_adapter"]
        last = max(each[3] for each in found)
        return self.warning(
            f"step {last}: {calls[0]} into {dtype} weights of "
            f"{counted(len(found), 'layer')}: the result is off by {number(ratio)} "
            f"times what the adapter adds: {in_words(names)}",
            cause=f"The sum was rounded to {dtype} again: what the adapter adds is no "
            "larger than the distance between two values that the weight can take.",
            fix=_FIX if worst.meta.get("quantized") else _FIX_FLOAT,
            places={"module": names, "call": calls},
            steps=(min(each[2] for each in found), last),
            reason="rounding",
            evidence={
                "error": ratio,
                "layers": len(found),
                "threshold": _bound(worst.meta),
            },
            healthy="an error of 1e-6 when merging into float32; in bf16 0.2 of a "
            "small change",
        )


def _rounded(run: Run) -> list[_Rounded]:
    """Return the layers whose merge has lost too much: how much, what, and when."""
    if TABLE not in run.tables():
        return []
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
    return found


def _cause(kind: Kind, layer: HandMerge) -> str:
    scaling = number(layer.scaling)
    return {
        "unscaled": f"B A was added without its scaling of {scaling}.",
        "unrooted": "B A was added times alpha / r; the adapter uses rsLoRA, whose "
        f"scaling is alpha / sqrt(r) = {scaling}.",
        "repeated": "It was added more than once, or multiplied by the scaling of "
        f"{scaling} again: get_delta_weight() already includes it.",
        "transposed": "B A was added transposed: Conv1D (fan_in_fan_out) stores its "
        "weight as (in, out), Linear as (out, in).",
    }.get(kind, "It was merged at a different strength than it was trained at.")


def _bound(meta: Mapping[str, object]) -> float:
    """Return the bound of a layer; of older records only 4-bit ones are quantised."""
    bits = meta.get("bits", 4 if meta.get("quantized") else 0)
    return LOST_4BIT if bits == 4 else LOST
