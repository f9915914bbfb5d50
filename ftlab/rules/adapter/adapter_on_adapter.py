"""The rule ADP014, adapter-on-adapter.

## What it does
Finds a model that was given adapters although it already had some: a PeftModel inside a
PeftModel, adapted layers that the current configuration does not target, and two
PeftModels on one base that are trained in turn.

## Why is this bad?
get_peft_model changes the base in place. Called on a PeftModel it nests: every name
gets the prefix `base_model.model.` twice, so a saved adapter finds none of its tensors
when it is loaded, and loading leaves B at 0; there is only a UserWarning. Called again
on the same base, as when a notebook cell is run twice, the layers of the first call
stay, including trained values: the model is not the base model at step 0, and the
number of trainable parameters is not what the configuration says. Two models built on
one base with the same adapter name are the same: each step of one of them changes the
other.

## Evidence
The chain of what carries PEFT configurations in the model, outermost first: more than
one PeftModel inside one another is a nested one. For each adapter the layers that hold
it against the layers that its configuration targets, by PEFT's own matching; the
threshold is 0, and what is not targeted is *left-over*. A first adapter that was
removed by `unload()` leaves neither. Of other live PeftModels with the same base object
those count (*one-base*) that were called to train, in training mode with gradients on,
at 2 steps or more in which this one was too, and that were told to use an adapter of
the same name whose trainable tensors are the same objects. One that is only left over
from a cell that was run before is never called to train.
By hand: `[n for n, m in model.named_modules() if isinstance(m, PeftModel)]` (one,
called "") and `model.targeted_module_names` against `[n for n in names if "lora_A" in
n]`.

## What to try
1. In a notebook reload the base in the cell that calls get_peft_model, or `base =
   model.unload()` before (`merge_and_unload()` to keep what was learned).
2. To continue with a saved adapter: `PeftModel.from_pretrained(base, folder,
   is_trainable=True)` on the plain base, without get_peft_model before.
3. For a second adapter: `model.add_adapter("second", config)`, then `set_adapter`.
   For a second model: load the base again.
4. Pass a trainer either a PeftModel or a peft_config, not both.

## Known problems
A prompt on top of a LoRA model nests on purpose; it is reported all the same, since its
files cannot be loaded in one call. Running a cell twice with the same targets
reinitializes the adapter and leaves only a stale optimizer, which OPT001 finds. A
second model on the base that is built after the first watched batch is not seen, nor
are two whose adapters have different names: `set_adapter` can keep these apart.
Compiled models are not observed.

## References
- huggingface/peft#2115, huggingface/lerobot#3459 (nested, nothing loaded)
- huggingface/peft#2295, #1040 (a second configuration has no effect)
- huggingface/peft#854, #940, #1523 (models on one base affect one another)
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.reading.wiring import (
    adapters,
    count_of,
    names_of,
    needs_wiring,
    steps_of,
    wiring,
)
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import at_steps, counted, in_words

ONE_BASE = "one_base"

_WRAPPERS = ("PeftModel", "PeftMixedModel")

MIN_STEPS = 2
"""Steps in which two models on one base must have been called."""


class AdapterOnAdapter(Rule):
    """Finds adapters that were put on top of adapters."""

    code = "ADP014"
    status = "stable"
    requires = needs_wiring

    def check(self, run: Run) -> Results:
        """Yield findings for nesting, for layers left over, and for a shared base."""
        yield from self._nested(run)
        yield from self._shared(run)
        for name, described, _ in adapters(run):
            left = names_of(described.get("leftover"))
            if left:
                count = count_of(described["leftover"])
                yield self._left(run, name, left, (count, int(described["layers"])))

    def _nested(self, run: Run) -> Results:
        chain = [
            c
            for c in wiring(run).get("chain") or ()
            if c["class"].startswith(_WRAPPERS)
        ]
        for outer, inner in pairwise(chain):
            if outer["path"] and not inner["path"].startswith(f"{outer['path']}."):
                continue
            described = dict(wiring(run)["adapters"]).get(inner["adapters"][0]) or {}
            parts = described.get("parts") or {}
            names = names_of((parts.get("lora_B") or {}).get("first"))
            yield self.warning(
                f"step {steps_of(run)[0]}: {outer['class']} wraps {inner['class']} at "
                f"{inner['path']}: names have the prefix twice, so loading an adapter "
                "by name finds nothing",
                cause="The base was already a PeftModel when it was wrapped: "
                "get_peft_model before from_pretrained, or a cell that was run twice.",
                fix="Start from the plain base model: PeftModel.from_pretrained(base, "
                "folder, is_trainable=True), or base = model.unload() first.",
                places={
                    # Where every name gets the prefix for the second time.
                    "module": f"{inner['path']}.base_model",
                    "param": names,
                    "call": ["get_peft_model", "from_pretrained"],
                },
                steps=steps_of(run),
                reason="nested",
                evidence={"depth": len(chain), "threshold": 1},
                healthy="one PeftModel, around the plain base model",
            )
            return

    def _shared(self, run: Run) -> Results:
        if ONE_BASE not in run.columns(ONE_BASE):
            return
        matrix = run.matrix(ONE_BASE, ONE_BASE)
        if np.count_nonzero(matrix.known.any(axis=1)) < MIN_STEPS:
            return
        records = records_of(run, matrix.ids, ONE_BASE)
        names = [record.name for record in records]
        steps = int(matrix.steps[0]), int(matrix.steps[-1])
        yield self.warning(
            f"{at_steps(*steps)}: another {text_of(records[0], 'class')} on the same "
            f"base is trained in turn with this one, and both own {in_words(names)}",
            cause="get_peft_model was called twice on one base object, which it "
            "changes in place: both models share the same adapter, and each update of "
            "one updates the other.",
            fix="Load the base again for the second model, or give one PeftModel two "
            "adapters: add_adapter('second', config), then set_adapter.",
            places={"param": names, "call": "get_peft_model"},
            steps=steps,
            reason="one-base",
            evidence={"tensors": len(names), "threshold": 0},
            healthy="each PeftModel has a base of its own",
        )

    def _left(
        self, run: Run, adapter: str, left: Sequence[str], counts: tuple[int, int]
    ) -> Finding:
        count, layers = counts
        return self.warning(
            f"step {steps_of(run)[0]}: {count} of {counted(layers, 'layer')} with "
            f"adapter {adapter} are not targeted by its configuration: "
            f"{in_words(left)}",
            cause="get_peft_model was called a second time on the same base, which it "
            "changes in place: these layers are left over from the first call.",
            fix="base = first.unload() (or reload the base) before get_peft_model.",
            places={
                "module": left,
                "call": "get_peft_model",
                "config": "target_modules",
            },
            steps=steps_of(run),
            reason="left-over",
            evidence={"layers": count, "threshold": 0},
            healthy="every layer with the adapter is targeted by its configuration",
        )
