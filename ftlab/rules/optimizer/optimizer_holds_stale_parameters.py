"""The rule OPT001, optimizer-holds-stale-parameters.

## What it does
Finds parameters in an optimizer that the model does not have (any more).

## Why is this bad?
The optimizer keeps stepping tensors that no forward reads. The parameters that replaced
them are in no group: new tokens or a new head never learn, and memory holds both.

## Evidence
The optimizer's parameter groups against the model's parameters, compared by identity,
as read when the run began and again whenever either changed. There is no threshold.
It is an error when the model has, at the same time, trainable parameters in no group: a
replaced parameter shows on both sides. Otherwise it is info: an optimizer may well hold
a loss's temperature or a second model. Float32 copies of half-precision parameters, one
of each shape, are master weights and are ignored, unless none of the parameters moves
over a step that should have moved it (a model that was reloaded). Where other tensors
replace the model's parameters while it runs (`torch.func.functional_call`), which is
checked in the first forward, the optimizer holds what it should and the rule is quiet;
so an optimizer that holds nothing of the model's, or tensors that fit what is missing
one by one, is judged from the second step on only. What has changed between two steps
counts from the next step on, and what changes after the last one never. Measured on a
small Llama in bf16 with copies in float32 (lr 1e-3): the norms of all 21 weights differ
between two measurements, in the stale run those of none.
Seen with transformers 5.23: `resize_token_embeddings` after the optimizer was built
replaces `lm_head.weight` and leaves the old tensor in the optimizer.

## What to try
1. Resize embeddings, replace heads and wrap with PEFT first, build the optimizer last.
2. Once it runs: `optimizer.add_param_group({"params": [...]})` for the new parameters,
   or rebuild the optimizer.
3. With FSDP2 build the optimizer after `fully_shard`.

## Known problems
Watching one of two models that share an optimizer shows the other one's parameters, as
info.

## References
- huggingface/accelerate#3256, #2665
- pytorch/pytorch#149205
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.records.facts import Facts
from ftlab.rules.reading.masters import HALF, without_copies
from ftlab.rules.reading.needs import needs_optimizers
from ftlab.rules.reading.outside import held_outside
from ftlab.rules.reading.tensors import group_of
from ftlab.rules.reading.trained_with import (
    Holds,
    missing_in,
    steps_since,
    was_trained_with,
)
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import counted, in_words, listed

LOOKED = 1
"""The step by which the modules were looked at, be the model called itself or not."""


class OptimizerHoldsStaleParameters(Rule):
    """Finds optimizers that step tensors which the model does not have."""

    code = "OPT001"
    status = "stable"
    requires = needs_optimizers
    caused_by = ("ADP008", "ADP004")

    def check(self, run: Run) -> Results:
        """Yield one finding per optimizer."""
        facts = run.facts
        missing = missing_in(facts)
        if missing and held_outside(run).issuperset(missing):
            return
        if not was_trained_with(run, _same_groups(run)):
            return
        if self._unnamed(run, missing):
            yield self.cannot_tell(
                "the model's parameters are not known before the first step; the "
                "optimizer may hold float32 copies of them",
                "let it run for one step",
            )
            return
        if run.last_step < LOOKED and missing and _may_stand_in(run, missing):
            yield self.cannot_tell(
                "what the optimizer holds may replace the model's parameters in "
                "torch.func.functional_call; the first forwards show it",
                f"let it run for {LOOKED + 1} steps",
            )
            return
        for index, optimizer in enumerate(facts.optimizers):
            foreign = without_copies(run, optimizer.get("foreign", ()))
            if foreign:
                yield self._finding(run, index, foreign, missing)

    def _unnamed(self, run: Run, missing: Sequence[str]) -> bool:
        """Tell whether copies cannot be told from strangers yet."""
        known = {record.name for record in run.names().values()}
        half = str(run.facts.model.get("dtype", "")).endswith(HALF)
        return half and not known.issuperset(missing)

    def _finding(
        self,
        run: Run,
        index: int,
        foreign: Sequence[Mapping[str, Any]],
        missing: Sequence[str],
    ) -> Finding:
        words = [
            f"{_shape(entry)} in group {entry.get('group', 0)}" for entry in foreign
        ]
        gone = _gone(run)
        hints = [str(e["name_hint"]) for e in foreign if e.get("name_hint")]
        known = in_words(gone) if len(gone) == len(foreign) else in_words(hints)
        first, last = steps_since(run, _same_groups(run))
        replaced = (
            f" Trainable and in no group: {in_words(missing)}; these replaced them."
            if missing
            else " All trainable parameters are in a group, so this may be intended."
        )
        return self.finding(
            Severity.ERROR if missing else Severity.INFO,
            f"step {first}: optimizer {index} holds "
            f"{counted(len(foreign), 'parameter')} that the model does not have: "
            f"{known or listed(words)}",
            cause="The optimizer was built before parameters were replaced, or for a "
            "different model." + replaced,
            fix="Build the optimizer after resize_token_embeddings, get_peft_model, "
            "delete_adapter and any new head, or add them with "
            "optimizer.add_param_group.",
            places={"optimizer": f"optimizer {index}", "param": (*missing, *gone)},
            steps=(first, last),
            evidence={
                "foreign": len(foreign),
                "missing": len(missing),
                "threshold": 0,
                "shapes": listed(words, 4),
            },
            healthy="every parameter in the optimizer is one of the model's",
        )


def _may_stand_in(run: Run, missing: Sequence[str]) -> bool:
    """Tell whether strangers could run in the place of parameters in no group.

    They could if each has one that it would fit, or if there is nothing else.
    """
    strangers = [f for each in run.facts.optimizers for f in each.get("foreign", ())]
    hints = {str(each.get("name_hint", "")) for each in strangers}
    groups = [
        group for each in run.facts.optimizers for group in each.get("groups", ())
    ]
    return hints == set(missing) or not any(group.get("names") for group in groups)


def _gone(run: Run) -> list[str]:
    """Name what was in a group once and is no longer among what groups hold."""
    groups = [g for each in run.facts.optimizers for g in each.get("groups", ())]
    held = {str(name) for group in groups for name in group.get("names", ())}
    names = run.names().values() if groups else ()
    lost = [name for name in names if group_of(name) >= 0 and not name.trainable]
    return [name.name for name in lost if name.name not in held]


def _same_groups(run: Run) -> Holds:
    """Ask for facts by which the same strangers are held, and the same is missing."""

    def told(facts: Facts) -> list[object]:
        foreign = [each.get("foreign", ()) for each in facts.optimizers]
        return [foreign, missing_in(facts)]

    latest = told(run.facts)
    return lambda facts: told(facts) == latest


def _shape(entry: Mapping[str, Any]) -> str:
    sizes = "x".join(map(str, entry.get("shape", ()))) or "scalar"
    return f"{sizes} {str(entry.get('dtype', '')).rpartition('.')[2]}".strip()
