"""The rule ADP004, merged-during-training.

## What it does
Finds training with adapters that are merged into the base weights or were all unloaded:
in the forwards that backward follows, or while the optimizer steps.

## Why is this bad?
A merged layer runs only its base layer. The adapter's tensors are not in the graph:
they have no gradient and do not change. Where something else is trained (a head), the
loss keeps moving. After merge_and_unload the layers are gone and the optimizer steps
tensors that no model has.
Merged only during the step, the adapter does change: merging added the old product
B0 A0 to the base weight, unmerging subtracts the new one, B1 A1. The difference stays
in the frozen base, and grows with every such step: with the adapter off the model is no
longer the base model, and a reference for DPO or a KL term drifts.

## Evidence
What is merged into every adapter layer, read at each forward with a graph and at each
optimizer step; there is no threshold, and an optimizer must hold adapter tensors.
- *merged*: a layer is merged in *every* forward that the same backward follows.
- *unloaded*: no adapter layer is left in any of them.
- *stepped*: a layer was merged at an optimizer step and not in the forward before. How
  far the base has moved is measured on up to 256 elements of each frozen weight: its
  largest change relative to the mean magnitude.

Measured: found at the step of the first such forward. LoRA's tensors then have no
gradient at all (None) though they require one: 8 of 8 in the gallery's case. One step
while merged (AdamW, float32) moves the base by 0.9 at lr 1e-2, 0.09 at 1e-3 and 0.009
at 1e-4, against 2e-7 for a cycle that is not stepped in.
By hand: `[n for n, m in model.named_modules() if getattr(m, "merged_adapters", None)]`,
and `(layer.base_layer.weight - w0).abs().max()` after a cycle, w0 being a clone.

## What to try
1. Call `unmerge_adapter()` after the fast evaluation or the weight sync, in `finally`,
   and before optimizer.step().
2. Merge a copy for what needs merged weights:
   `copy.deepcopy(model).merge_and_unload()`.
3. After `merge_and_unload()` do not continue training with the old optimizer.
4. *stepped*: reload the base weights, from which what has been added can no longer be
   separated.

## Known problems
An optimizer that holds the adapter and steps with no gradients (all None) while merged
changes nothing, and is reported all the same.

## References
- huggingface/trl#2873, #2856, #2818 (merging around generation, and for weight sync)
- huggingface/peft#2437
"""

from ftlab.rules.reading.adapter_states import (
    Pass,
    adapter_tensors,
    calls_of,
    held_adapters,
    needs_states,
    passes_of,
    tensors_in,
    updates_of,
)
from ftlab.rules.reading.frozen import base_weights, latest_change
from ftlab.rules.reading.tensors import params
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, in_words, number


class MergedDuringTraining(Rule):
    """Finds adapters that are merged or gone while the model is trained."""

    code = "ADP004"
    status = "stable"
    requires = needs_states

    def check(self, run: Run) -> Results:
        """Yield a finding for stepped layers, for merged and for unloaded ones."""
        if stepped := _stepped_while_merged(run):
            yield self._stepped(run, stepped)
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
            reason="merged",
            evidence={
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
        return self.error(
            f"{at_steps(first, last)}: the model was trained further without any "
            f"adapter layer; the optimizer still holds {len(tensors)} adapter tensors",
            cause=f"{calls[0]}() removed the adapter layers from the model, in place, "
            "and the loop continued with it.",
            fix="Unload a copy (copy.deepcopy(model).merge_and_unload()), or only "
            "after training.",
            places=[Place("call", call) for call in calls] + params(tensors),
            steps=(first, last),
            reason="unloaded",
            evidence={"layers": 0, "tensors": len(tensors)},
            healthy="the adapter layers that the optimizer holds are in the model",
        )

    def _stepped(self, run: Run, found: dict[int, list[str]]) -> Finding:
        steps = sorted(found)
        layers = list(dict.fromkeys(path for paths in found.values() for path in paths))
        weights = base_weights(run, layers)
        change = latest_change(run, weights)
        moved = (
            f", which have changed by up to {number(change)} of their mean magnitude"
        )
        return self.error(
            f"{at_steps(steps[0], steps[-1])}: the optimizer stepped while "
            f"{len(layers)} adapter layers were merged: base weights of "
            f"{in_words(layers)}{moved if change else ''}",
            cause="The merge added the old B A; unmerging subtracts the B A after the "
            "step. The difference stays in the frozen base weights.",
            fix="Call unmerge_adapter() before optimizer.step(), and reload the base "
            "weights, which still contain the difference.",
            places={
                "param": weights,
                "call": [*calls_of(run, "merge"), "optimizer.step"],
                "module": layers,
            },
            steps=(steps[0], steps[-1]),
            reason="stepped",
            evidence={
                "steps": len(steps),
                "merged_layers": len(layers),
                "base_change": change,
                "threshold": 0,
            },
            healthy="no adapter is merged when the optimizer steps; a merge cycle "
            "changes float32 weights by 2e-7 of their mean magnitude",
        )


def _layers(one: Pass) -> list[int]:
    return [state.layers for state in one.forwards]


def _stepped_while_merged(run: Run) -> dict[int, list[str]]:
    """Return, by step, the layers that were stepped merged and run unmerged."""
    held = held_adapters(run)
    run_merged: dict[int, set[str]] = {}
    for each in passes_of(run):
        run_merged.setdefault(each.step, set()).update(each.in_all("merged"))
    found = {}
    for entry, state in updates_of(run):
        if held & state.merged_adapters:
            inside = run_merged.get(entry.step, set())
            layers = [path for path in state.merged if path not in inside]
            if layers:
                found[entry.step] = layers
    return found
