"""The rule ADP030, merge-into-tied-weight.

## What it does
Finds merges that have actually changed a weight that another module uses as well.

## Why is this bad?
The adapter was made for one of the two modules, usually the output head. Merging adds
its product to the shared tensor: the input embeddings change too, and the model that
worked as base plus adapter produces garbage once merged.

## Evidence
A sample of up to 256 elements of every frozen weight that has several names, before and
after a merge of an adapter layer on one of them. Any change counts.
Measured (tied Llama, LoRA on the head, 4 steps at lr 2e-2): the embedding changed by
6 times its mean magnitude; with the head untied by 0.
By hand: keep `w = model.get_input_embeddings().weight.clone()` and compare after the
merge.

## What to try
1. Unmerge at once: `unmerge_adapter()`; after merge_and_unload, reload the model.
2. Untie before merging: give the head a clone of its weight and set
   `config.tie_word_embeddings = False`.
3. Leave the head and the embeddings out of target_modules (see ADP029).

## Known problems
With `ensure_weight_tying=True` both sides get the same change on purpose: this is
reported too.

## References
- huggingface/peft#2018 (an adapter merged into a tied layer)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.adapter_states import calls_of, may_have_adapters
from ftlab.rules.reading.frozen import Change, changes_of
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run


class MergeIntoTiedWeight(Rule):
    """Finds shared weights that a merge has changed."""

    code = "ADP030"
    name = "merge-into-tied-weight"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_step_values(
            "frozen_compared",
            "a comparison of the frozen weights",
            "ftlab.watch(...) with its standard probes",
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether the model has adapter layers."""
        return may_have_adapters(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding per shared weight."""
        if not calls_of(run, "merge", "unload"):
            return
        for change in changes_of(run):
            if change.tied and change.layer and not change.by_rounding:
                yield self._finding(run, change)

    def _finding(self, run: Run, change: Change) -> Finding:
        names = [change.name.name, *change.tied]
        others = [name for name in names if not name.startswith(f"{change.layer}.")]
        calls = calls_of(run, "unload", "merge")
        return self.finding(
            Severity.ERROR,
            f"{at_steps(change.first, change.last)}: {calls[0]} of the adapter on "
            f"{in_words([change.layer])} changed {in_words(others)} as well, by up to "
            f"{number(change.relative)} of its mean magnitude",
            cause="The weights are tied: one tensor under several names. The merge "
            "added the adapter's product to all of them.",
            fix="Unmerge at once, or reload the base; untie the weights before "
            "merging, or remove the tied module from target_modules.",
            places=[
                *(Place("param", name) for name in others),
                *(Place("param", name) for name in names if name not in others),
                *(Place("call", call) for call in calls),
                Place("config", "target_modules"),
            ],
            steps=(change.first, change.last),
            evidence={
                "reason": "merged",
                "change": change.relative,
                "names": len(names),
            },
            healthy="a merge changes only the module that has the adapter",
        )
