"""The rule ADP005, step-while-merged.

## What it does
Finds optimizer steps that change an adapter while it is merged into the base weights.

## Why is this bad?
Merging adds the old product B0 A0 to the base weight; unmerging subtracts the new one,
B1 A1. The difference stays in the frozen base, and grows with every such step: with the
adapter off the model is no longer the base model, and a reference for DPO or a KL term
drifts.

## Evidence
What is merged into every adapter layer, read at each optimizer step; there is no
threshold. A step counts when a layer was merged at it and not in the forward before: in
a layer that was merged in the forward as well the adapter has no gradient and does not
change (see ADP004). How far the base has moved is measured on up to 256 elements of
each frozen weight: its largest change relative to the mean magnitude.
Measured (AdamW, float32, one such step): 0.9 at lr 1e-2, 0.09 at 1e-3 and 0.009 at 1e-4
against 2e-7 for a cycle that is not stepped in; it grows with every step.
By hand: keep `w0 = layer.base_layer.weight.clone()` and look at
`(layer.base_layer.weight - w0).abs().max()` after a cycle.

## What to try
1. Order: merge, use the merged weights, unmerge, and only then optimizer.step().
2. Reload the base weights: what has been added can no longer be separated from them.
3. Sync only the adapter, or merge into a copy.

## Known problems
An optimizer that holds the adapter and steps with no gradients (all None) changes
nothing, and is reported all the same.

## References
- huggingface/trl#2873, #2818 (merged weight sync of GRPO)
- huggingface/peft#2437
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.adapter_states import (
    calls_of,
    held_adapters,
    may_have_adapters,
    needs_states,
    passes_of,
    updates_of,
)
from ftlab.rules.reading.frozen import base_weights, latest_change
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run


class StepWhileMerged(Rule):
    """Finds adapters that are stepped while they are merged."""

    code = "ADP005"
    name = "step-while-merged"
    since = "0.1.0"
    status = "stable"
    requires = (needs_states,)

    def applies(self, run: Run) -> bool:
        """Tell whether the model has adapter layers."""
        return may_have_adapters(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all layers."""
        found = stepped_while_merged(run)
        if found:
            yield self._finding(run, found)

    def _finding(self, run: Run, found: dict[int, list[str]]) -> Finding:
        steps = sorted(found)
        layers = list(dict.fromkeys(path for paths in found.values() for path in paths))
        weights = base_weights(run, layers)
        change = latest_change(run, weights)
        moved = (
            f", which have changed by up to {number(change)} of their mean magnitude"
        )
        return self.finding(
            Severity.ERROR,
            f"{at_steps(steps[0], steps[-1])}: the optimizer stepped while "
            f"{len(layers)} adapter layers were merged: base weights of "
            f"{in_words(layers)}{moved if change else ''}",
            cause="The merge added the old B A; unmerging subtracts the B A after the "
            "step. The difference stays in the frozen base weights.",
            fix="Call unmerge_adapter() before optimizer.step(), and reload the base "
            "weights, which still contain the difference.",
            places=[
                *(Place("param", name) for name in weights),
                *(Place("call", call) for call in calls_of(run, "merge")),
                Place("call", "optimizer.step"),
                *(Place("module", path) for path in layers),
            ],
            steps=(steps[0], steps[-1]),
            evidence={
                "steps": len(steps),
                "merged_layers": len(layers),
                "base_change": change,
                "threshold": 0,
            },
            healthy="no adapter is merged when the optimizer steps; a merge cycle "
            "changes float32 weights by 2e-7 of their mean magnitude",
        )


def stepped_while_merged(run: Run) -> dict[int, list[str]]:
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
