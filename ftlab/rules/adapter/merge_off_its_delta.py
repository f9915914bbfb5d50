"""The rule ADP052, merge-off-its-delta.

## What it does
Finds base weights into which custom code merged something other than what the adapter
adds: B A without its scaling, with the wrong scaling, several times, or transposed.

## Why is this bad?
The model that was evaluated is W + scaling x B A. What is saved or served is different:
too weak, too strong, or with a change of the right size in the wrong places. Shapes
fit, and nothing warns about it.

## Evidence
256 elements of each weight under a LoRA layer, against what they were at the last look;
what PEFT itself merges and unmerges is added to these. The change is regressed on the
same elements of scaling x B A, of each adapter and of all together. Looked at is one
weight in turn before each update and in evaluations, and all of them after one has
changed so, when a whole model is saved, and at the end. A change counts where at most
0.4 of its norm is left unexplained, and a factor is one of these within 2 % and a
quarter of what is left:
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
`(C * D).sum() / D.square().sum()` must be 1.

## What to try
1. `model.merge_and_unload()`, which handles scaling, orientation and variants.
2. `W += layer.get_delta_weight(name)`: it includes scaling and orientation. It is
   `layer.scaling[name] * B @ A`, transposed where `layer.fan_in_fan_out` is set.
3. Reload the base weights before merging again.

## Known problems
A strength that was chosen and happens to be one of these factors (half of an adapter
whose scaling is 2) looks the same, and is reported. Not measured: DoRA and other
variants, quantised weights, weights that are trained themselves, adapters that were set
back to 0 right after the merge, factors that no optimizer holds any more after
`unload()`, and merges into a copy of the model. Merging one of several adapters, and
not the others, may be intended: nothing is reported.

## References
- hao-ai-lab/FastVideo#870 (merged without alpha / r)
- NVIDIA/TensorRT-LLM#1668 (alpha / r instead of alpha / sqrt(r))
- predibase/lorax#106, axolotl-ai-cloud/axolotl#3095 (GPT-2 and fan_in_fan_out)
- jingyaogong/minimind#598 (W += B A, and again at each call)
"""

import statistics
from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.adapter_states import may_have_adapters
from ftlab.rules.reading.hand_merges import EXACT, HandMerge, Kind, hand_merges, kind_of
from ftlab.rules.rule import Rule, needs_facts
from ftlab.rules.words import counted, number
from ftlab.runlog.run import Run


class MergeOffItsDelta(Rule):
    """Finds hand-written merges that add something else than the adapter."""

    code = "ADP052"
    name = "merge-off-its-delta"
    since = "0.1.0"
    status = "preview"
    requires = (
        needs_facts("model", "facts of the model", "ftlab.watch(model, optimizer)"),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether the model has adapter layers."""
        return may_have_adapters(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield the first wrong merge of each adapter."""
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
            places=[Place("param", name) for name in names],
            steps=(step, step),
            evidence={
                "reason": kind,
                "factor": factor,
                "right": 1.0,
                "scaling": first.scaling,
                "left": max(each.off for each in layers),
                "layers": len(names),
                "threshold": EXACT,
            },
            healthy="a merge adds scaling x B A once: the factor is 1",
        )


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
