"""The rule ADP004, merged-during-training.

## What it does
Finds training forwards that run with adapters merged into the base weights, or after
all adapters were unloaded.

## Why is this bad?
A merged layer runs only its base layer. The adapter's tensors are not in the graph:
they have no gradient and do not change. Where something else is trained (a head), the
loss keeps moving. After merge_and_unload the layers are gone and the optimizer steps
tensors that no model has.

## Evidence
What is merged into every adapter layer, read at each forward with a graph; there is no
threshold. A layer counts when it is merged in *every* forward that the same backward
follows, and an optimizer must hold adapter tensors.
Measured: found at the step of the first such forward. LoRA's tensors then have no
gradient at all (None) though they require one: 8 of 8 in the gallery's case.
By hand: `[n for n, m in model.named_modules() if getattr(m, "merged_adapters", None)]`.

## What to try
1. Call `unmerge_adapter()` after the fast evaluation or the weight sync, in `finally`.
2. Merge a copy for what needs merged weights:
   `copy.deepcopy(model).merge_and_unload()`.
3. After `merge_and_unload()` do not continue training with the old optimizer.

## Known problems
None is known: PEFT itself cannot train a merged adapter.

## References
- huggingface/trl#2873, #2856 (merging around generation)
- huggingface/peft#2437
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.adapter_states import (
    Pass,
    adapter_tensors,
    calls_of,
    may_have_adapters,
    needs_states,
    passes_of,
    tensors_in,
)
from ftlab.rules.reading.tensors import params
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run


class MergedDuringTraining(Rule):
    """Finds adapters that are merged or gone while the model is trained."""

    code = "ADP004"
    name = "merged-during-training"
    since = "0.1.0"
    status = "stable"
    requires = (needs_states,)

    def applies(self, run: Run) -> bool:
        """Tell whether the model has, or had, adapter layers."""
        return may_have_adapters(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield a finding for merged layers, and one for unloaded ones."""
        passes = passes_of(run)
        if not adapter_tensors(run):
            return
        merged = [each for each in passes if each.in_all("merged")]
        if merged:
            yield self._merged(run, merged)
        gone = [p for p in passes if p.forwards and not any(_layers(p))]
        if gone:
            yield self._unloaded(run, gone)

    def _merged(self, run: Run, found: list[Pass]) -> Finding:
        layers, state = found[-1].in_all("merged"), found[-1].forwards[-1]
        first, last = found[0].step, found[-1].step
        calls = calls_of(run, "merge") or ["merge_adapter"]
        adapters = ", ".join(sorted(state.merged_adapters))
        return self.finding(
            Severity.ERROR if len(layers) == state.mergeable else Severity.WARNING,
            f"{at_steps(first, last)}: {len(layers)} of {state.mergeable} adapter "
            f"layers were merged in training forwards: {in_words(layers)}",
            cause=f"Adapter {adapters} was merged and not unmerged before training "
            "continued. A merged layer runs only its base layer: the adapter's tensors "
            "are not in the graph.",
            fix="Call unmerge_adapter() after the evaluation or the weight sync, in a "
            "finally block; or merge a copy of the model.",
            places=[
                *(Place("module", path) for path in layers),
                *(Place("call", call) for call in calls),
                Place("config", "merged"),
                *tensors_in(run, layers),
            ],
            steps=(first, last),
            evidence={
                "reason": "merged",
                "merged_layers": len(layers),
                "layers": state.mergeable,
                "passes": len(found),
            },
            healthy="no adapter is merged in a forward that backward follows",
        )

    def _unloaded(self, run: Run, found: list[Pass]) -> Finding:
        first, last = found[0].step, found[-1].step
        calls = calls_of(run, "unload") or ["merge_and_unload"]
        tensors = adapter_tensors(run)
        return self.finding(
            Severity.ERROR,
            f"{at_steps(first, last)}: the model was trained further without any "
            f"adapter layer; the optimizer still holds {len(tensors)} adapter tensors",
            cause=f"{calls[0]}() removed the adapter layers from the model, in place, "
            "and the loop continued with it.",
            fix="Unload a copy (copy.deepcopy(model).merge_and_unload()), or only "
            "after training.",
            places=[Place("call", call) for call in calls] + params(tensors),
            steps=(first, last),
            evidence={"reason": "unloaded", "layers": 0, "tensors": len(tensors)},
            healthy="the adapter layers that the optimizer holds are in the model",
        )


def _layers(one: Pass) -> list[int]:
    return [state.layers for state in one.forwards]
