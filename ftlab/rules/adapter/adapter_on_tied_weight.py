"""The rule ADP029, adapter-on-tied-weight.

## What it does
Finds adapters on one of two modules that share a weight (the output head of a model
whose embeddings are tied), merges that have changed both, and copies of one of them in
modules_to_save.

## Why is this bad?
Unmerged, the adapter affects only its own module. Merging adds its delta to the shared
tensor, so the input embeddings change too, and the merged model produces garbage;
saving the merged model and tying it again does the same. A copy in modules_to_save
drifts away from the other one: head and embeddings are separate from then on, until a
merged model is saved and loaded with its configuration, which ties them again. A whole
module that several blocks share is replaced only in its first place: the others run
without the adapter.

## Evidence
Parameters with more than one name, of which one is the base weight of an adapter's
layer or has a copy in modules_to_save, and another one is not.
- *merged*: a sample of up to 256 elements of such a weight has changed after a merge of
  its layer, by any amount. An error.
- *tied*: nothing was merged. Info: only merging does harm.
- *copy*: a copy that an optimizer holds and that has gradients is a warning, as the tie
  is broken by the first step; else info.
- *half-wrapped*: a module that is the base of an adapter's layer stands under another
  name, which the configuration asks for as well, without one: `named_modules` lists it
  once. A warning. There is no threshold.

Measured on a tiny tied Llama with LoRA on q_proj and lm_head: merging changes the
logits by 6.6, by 7e-7 where the head was untied before, and the input embeddings by
0.24; after 4 steps at lr 2e-2 by 6 times their mean magnitude, untied by 0. A tiny tied
Qwen2, embeddings in modules_to_save: after 16 steps their elements differ by up to
0.037, and 0 with `ensure_weight_tying=True`.
By hand: `model.get_input_embeddings().weight is head.base_layer.weight`.

## What to try
1. Leave the head out of target_modules.
2. `ensure_weight_tying=True` (peft from 0.19 on), so that both sides get the same
   change.
3. A shared module: assign PEFT's layer to the other places too after get_peft_model,
   `blocks[1].mix = blocks[0].mix`.
4. Before merging, untie: give the head a clone of its weight and set
   `config.tie_word_embeddings = False`.
5. *merged*: `unmerge_adapter()` at once; after merge_and_unload, reload the model.

## Known problems
An adapter that is never merged works; the info is about what comes later. A merge with
`ensure_weight_tying=True` changes both sides on purpose, and is reported too.

## References
- huggingface/peft#2018, #2864, #2803, unslothai/unsloth#3711
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ftlab.records.name_words import in_words, short_name
from ftlab.rules.reading.adapter_states import calls_of
from ftlab.rules.reading.frozen import Change, changes_of
from ftlab.rules.reading.saving import needs_peft_model, span
from ftlab.rules.reading.tensors import group_of, records_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, number

_BASE = ".base_layer.weight"
_COPIED = ".original_module.weight"
_COPY = ".modules_to_save."


class AdapterOnTiedWeight(Rule):
    """Finds adapters whose base weight is another module's weight too."""

    code = "ADP029"
    status = "stable"
    requires = needs_peft_model

    def check(self, run: Run) -> Results:
        """Yield one finding per shared tensor, and one for shared modules."""
        calls, merged = calls_of(run, "unload", "merge"), set[str]()
        for change in changes_of(run) if calls else ():
            if change.tied and change.layer and not change.by_rounding:
                merged |= {change.name.name, *change.tied}
                yield self._merged(change, calls)
        half = run.facts.model.get("half_wrapped") or {}
        if half:
            yield self._half(run, half)
        known = tuple(f"{path}." for path in half)
        for names in run.facts.model.get("tied") or ():
            if merged.isdisjoint(names) and not (known and names[0].startswith(known)):
                yield from self._tied(run, names)

    def _tied(self, run: Run, names: Sequence[str]) -> Results:
        adapted = [name for name in names if name.endswith(_BASE)]
        copied = [name for name in names if name.endswith(_COPIED)]
        plain = [name for name in names if name not in (*adapted, *copied)]
        if adapted and (plain or copied):
            yield self._finding(run, adapted, [*plain, *copied])
        elif copied and plain:
            yield self._copy(run, copied, plain)

    def _merged(self, change: Change, calls: Sequence[str]) -> Finding:
        names = [change.name.name, *change.tied]
        others = [name for name in names if not name.startswith(f"{change.layer}.")]
        return self.error(
            f"{at_steps(change.first, change.last)}: {calls[0]} of the adapter on "
            f"{in_words([change.layer])} changed {in_words(others)} as well, by up to "
            f"{number(change.relative)} of its mean magnitude",
            cause="The weights are tied: one tensor under several names. The merge "
            "added the adapter's product to all of them.",
            fix="Unmerge at once, or reload the base; untie the weights before "
            "merging, or remove the tied module from target_modules.",
            places={
                "param": [*others, *(name for name in names if name not in others)],
                "call": calls,
                "config": "target_modules",
            },
            steps=(change.first, change.last),
            reason="merged",
            evidence={"change": change.relative, "names": len(names)},
            healthy="a merge changes only the module that has the adapter",
        )

    def _half(self, run: Run, half: Mapping[str, Sequence[str]]) -> Finding:
        bare = [path for paths in half.values() for path in paths]
        return self.warning(
            f"from step {run.facts.step}: {in_words(bare)} runs without an adapter: it "
            f"is the same module as {in_words(half)}",
            cause="Several places of the model share one module. named_modules lists "
            "it once, so PEFT replaces it only in the first place.",
            fix="Assign PEFT's layer to the other places after get_peft_model: "
            "blocks[1].mix = blocks[0].mix.",
            places={"module": [*bare, *half], "config": "target_modules"},
            steps=span(run, run.facts.step),
            reason="half-wrapped",
            evidence={"places": len(bare), "threshold": 0},
            healthy="a shared module has its adapter in every place",
        )

    def _finding(
        self, run: Run, adapted: Sequence[str], plain: Sequence[str]
    ) -> Finding:
        modules = [short_name(name.removesuffix(_BASE)) for name in adapted]
        return self.note(
            f"from step {run.facts.step}: the adapter of {in_words(modules)} is on a "
            f"weight that is also {in_words(plain)}: merging it changes both",
            cause="The model ties its output head to its input embeddings, but only "
            "one of the two has the adapter.",
            fix=f"Leave {', '.join(modules)} out of target_modules, set "
            "ensure_weight_tying=True, or untie the weights before merging.",
            places={"param": [*plain, *adapted], "config": "target_modules"},
            steps=span(run, run.facts.step),
            reason="tied",
            evidence={"adapted": len(adapted), "others": len(plain)},
            healthy="no weight under an adapter is another module's weight",
        )

    def _copy(self, run: Run, copied: Sequence[str], plain: Sequence[str]) -> Finding:
        modules = [short_name(name.removesuffix(_COPIED)) for name in copied]
        trained = _trained_copies(run, copied)
        first = 0 if trained else run.facts.step
        return self.finding(
            Severity.WARNING if trained else Severity.INFO,
            f"from step {first}: modules_to_save trains a copy of {in_words(modules)}, "
            f"whose weight was also {in_words(plain)}: they are separate tensors from "
            "here on",
            cause="The model ties its output head to its input embeddings, but only "
            "one of the two is copied and trained. The other keeps its old values, "
            "including rows of new tokens.",
            fix="Set ensure_weight_tying=True to train both as one, or untie the model "
            "(tie_word_embeddings=False) and keep both in modules_to_save.",
            places={"param": [*plain, *trained], "config": "modules_to_save"},
            steps=span(run, first),
            reason="copy",
            evidence={
                "copied": len(copied),
                "trained": len(trained),
                "others": len(plain),
            },
            healthy="tied weights stay one tensor, or the model is configured as "
            "untied",
        )


def _trained_copies(run: Run, copied: Sequence[str]) -> list[str]:
    """Return the copies that an optimizer holds and that had gradients but 0."""
    places = tuple(name.removesuffix(_COPIED) + _COPY for name in copied)
    gradient = run.matrix("grad_l2")
    pushed = np.flatnonzero((gradient.known & (gradient.values > 0)).any(axis=0))
    names = records_of(run, gradient.ids)
    return [
        names[index].name
        for index in pushed
        if group_of(names[index]) >= 0 and names[index].name.startswith(places)
    ]
