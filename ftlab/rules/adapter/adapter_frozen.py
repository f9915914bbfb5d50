"""The rule ADP010, adapter-frozen.

## What it does
Finds adapters with no trainable parameters although the model is being trained, and
adapters of which only some pairs are trainable, or not the heads in modules_to_save.

## Why is this bad?
A frozen adapter does not change. With input gradients switched on, or a trained head,
backward raises no error: loss, learning rate and step count look normal, but the saved
adapter is the old one.

## Evidence
`requires_grad` of every tensor that PEFT added, by adapter and part, as read before the
run and whenever it changed; whether frozen tensors are exactly 0; `inference_mode` of
the configuration. There is no threshold: it is a count that is 0. At least one
optimizer or one step must be known, so that a model used only for inference is not
reported.
- *inference-mode*: the configuration says so and B is 0, as after get_peft_model with a
  configuration that was read from a saved adapter.
- *loaded-frozen*: it says so and B is not 0, as after from_pretrained. An error where
  nothing else learns, and info where something outside of the adapter does. It is a
  warning where the adapter's own copies in modules_to_save learn, and where the model
  trains in training mode through the adapter and there is no PeftModel (transformers'
  `load_adapter` freezes as well), or weights in the blocks of the base or with a row
  for each token learn: no new task adds these. Measured on transformers 5.23 with peft
  0.21.2 and `modules_to_save`: after it 0 of 8 LoRA tensors are trainable and 1 of 1
  copies, so that a Trainer raises nothing; after `from_pretrained` 0 of both.
- *frozen-afterwards*: it does not; something froze the tensors later.
- *some-pairs*: pairs are frozen while other pairs of the same adapter learn. Info, with
  the number of those that are 0: many freeze some blocks on purpose, or until their
  turn comes, and nothing measurable tells these apart. Blocks that were selected by a
  part of their number are MOD014.
- *modules-to-save*, *magnitude*: the copies in modules_to_save, or DoRA's magnitudes,
  are frozen while the pairs learn.
- *embedding-pairs*: both factors of every embedding's pair are frozen, the product is
  exactly 0, and all linear pairs of the same adapter are trainable. PEFT calls those
  factors lora_embedding_A and lora_embedding_B, which `".lora_A." in n` does not
  match. Measured on 0.21.2 with targets q_proj, v_proj and embed_tokens: that loop
  leaves 8 of 10 tensors trainable, and after 5 steps A of the embedding is still 0.
  Values other than 0 were trained once, and are left as they are.
- *copy-left-off*: such a copy is frozen, and its module does not run it, while the
  pairs of the same adapter are active and learn. So PEFT leaves it when the active
  adapter is deleted and had no copy of its own: measured on 0.21.2 with two LoRA
  adapters, one of them with modules_to_save, after `set_adapter("other")` and
  `delete_adapter("other")` 8 of 8 LoRA tensors of the first are trainable, and 0 of 1
  copies.
- *not-thawed-again*: tensors that learned were frozen while the model was run without
  gradients between two steps, others that were frozen with them learn again, they do
  not, and the optimizer holds them still. A warning: what was frozen for an evaluation
  was unfrozen by names that miss some. Where anything else is unfrozen as well, or PEFT
  froze them because their adapter was off, it is a planned alternation, and not
  reported.
Frozen tensors that the optimizer still holds most likely wait for their turn: a head
that is trained before its adapter, or after it. Such a part next to others that learn
is info.
By hand: `model.print_trainable_parameters()`, `[n for n, p in
model.named_parameters() if ("lora_" in n or "modules_to_save" in n) and not
p.requires_grad]`, and `model.get_model_status()`.

## What to try
1. *loaded-frozen*: `PeftModel.from_pretrained(base, folder, is_trainable=True)`, or
   `model.load_adapter(folder, is_trainable=True)`, as it was loaded.
2. *inference-mode*: `config.inference_mode = False` before get_peft_model.
3. *frozen-afterwards*: quantise, prepare_model_for_kbit_training, get_peft_model, then
   optimizer, in this order; no `requires_grad_(False)` after get_peft_model; do not
   pass a PeftModel to code that prepares models.
4. *copy-left-off*: `model.set_adapter(name)` after `delete_adapter`, and before the
   optimizer is built; it switches the copies on as well.
5. *not-thawed-again*: keep `[p for p in model.parameters() if p.requires_grad]` before
   the evaluation, and unfreeze those after it. Evaluation only needs `torch.no_grad()`.
6. `model.set_adapter(name)` makes one adapter trainable again.

## Known problems
Freezing everything for an evaluation, and unfreezing less after it on purpose, with the
same optimizer, is reported. Frozen permanently without such an evaluation is info.
Quiet while any other adapter of the model learns: one of two adapters is often frozen.
LoRA-FA, which freezes every A, is not reported. An embedding whose turn comes later is
reported if the optimizer does not hold it yet. A head that learns before its adapter,
with an optimizer that does not hold the adapter yet, is a warning. Training only a head
over a loaded adapter that is frozen on purpose is info in a PeftModel, and also over
one that was frozen by hand and adds something; training only the rows of tokens there,
in training mode, is a warning. In a transformers model it is a warning unless the
frozen part runs in evaluation mode, as such a probe should.

## Known myths
"A custom adapter_name gives 0 trainable parameters" (peft#1346, peft#1410): held up to
PEFT 0.7; measured on 0.21.2, `get_peft_model(..., adapter_name="abc")` trains 8 of 8
tensors. "load_adapter(is_trainable=True) unfreezes the wrong adapter" (peft#3580):
measured on 0.21.2, the loaded one is trainable and the first one stays frozen.

## References
- huggingface/peft#282, huggingface/transformers#24463, tloen/alpaca-lora#352
- huggingface/trl#3926, huggingface/trl#6700, huggingface/transformers#26098
- huggingface/peft#102, #760 (frozen by k-bit preparation)
- unslothai/unsloth#9326 (an embedding among the targets that is not trained)
- huggingface/peft#3716, #3743 (the copy that delete_adapter leaves off)
"""

from collections.abc import Sequence

from ftlab.rules.reading.adapter_states import wait_for_thawing
from ftlab.rules.reading.trained_with import same_adapters, was_trained_with
from ftlab.rules.reading.wiring import (
    Described,
    adapters,
    is_trained,
    names_of,
    needs_wiring,
    param_places,
    steps_of,
    trainable_tensors,
)
from ftlab.rules.reasons.frozen_parts import frozen_pairs, frozen_parts
from ftlab.rules.reasons.unthawed import Unthawed, not_thawed
from ftlab.rules.reasons.why_frozen import (
    is_meant_to_learn,
    kept_learn,
    severity_of,
    why_frozen,
)
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import counted, in_words, listed


class AdapterFrozen(Rule):
    """Finds adapters that cannot learn because they are frozen."""

    code = "ADP010"
    status = "stable"
    requires = needs_wiring
    caused_by = ("ADP003", "MOD014", "ADP045")

    def check(self, run: Run) -> Results:
        """Yield a finding for all adapters together, or one per half-frozen adapter."""
        found = [entry for entry in adapters(run) if entry[1].get("parts")]
        kinds = {str(described.get("type")) for _, described, _ in adapters(run)}
        # X-LoRA trains a gate over adapters that stay as they are.
        if not found or "XLORA" in kinds:
            return
        if not was_trained_with(run, same_adapters(run)):
            return
        if not (is_trained(run) or is_meant_to_learn(run, found)):
            return
        # Read while they were switched off, as in a look at the base model: PEFT
        # freezes them for so long. ADP003 says if training goes on like that.
        off = run.facts.model.get("active_adapters") == []
        if off and run.names("adapter_states"):
            return
        if forgotten := not_thawed(run):
            yield self._forgotten(run, forgotten)
            return
        if not any(trainable_tensors(described) for _, described, _ in found):
            yield self._whole(run, found)
            return
        for name, described, _ in found:
            yield from self._pairs(run, name, described)
            yield from self._kept(run, name, described)

    def _whole(
        self, run: Run, found: Sequence[tuple[str, Described, Described]]
    ) -> Finding:
        names = [n for _, described, _ in found for n in _frozen(described)]
        total = sum(
            int(part["tensors"]) - int(part.get("trainable", 0))
            for _, described, _ in found
            for part in described["parts"].values()
        )
        why, kept = why_frozen(run, found), kept_learn(found)
        others = int(run.facts.model.get("trainable") or 0)
        words = listed([name for name, _, _ in found])
        besides = "while its modules_to_save learn" if kept else _besides(others)
        return self.finding(
            severity_of(run, found, why.kind),
            f"from step {steps_of(run)[0]}: all {counted(total, 'tensor')} of adapter "
            f"{words} are frozen, {besides}",
            cause=why.cause,
            fix=why.fix,
            places=[*why.before, *param_places(names), *why.after],
            steps=steps_of(run),
            reason=why.kind,
            evidence={
                "trainable": 0,
                "adapter_tensors": total,
                "trainable_elsewhere": others,
            },
            healthy="lora_A and lora_B of the trained adapter require gradients",
        )

    def _forgotten(self, run: Run, found: Unthawed) -> Finding:
        many = counted(len(found.names), "tensor")
        return self.warning(
            f"from step {found.step}: {many} of adapters that were trained before are "
            f"frozen since an evaluation: {in_words(found.names)}",
            cause=f"All were frozen for the evaluation. {found.thawed} of them were "
            "unfrozen again; these were missed, though the optimizer still holds them.",
            fix="Keep a list of what requires a gradient before the evaluation, and "
            "unfreeze just that; or freeze nothing: torch.no_grad() is enough.",
            places={"param": found.names, "call": "requires_grad_"},
            steps=(found.step, max(run.last_step, found.step)),
            reason="not-thawed-again",
            evidence={"frozen": len(found.names), "thawed": found.thawed},
            healthy="what is trained before an evaluation is trained after it",
        )

    def _pairs(self, run: Run, adapter: str, described: Described) -> Results:
        """Find pairs of which both factors are frozen while others learn."""
        for part, frozen, total in frozen_pairs(described):
            zero = set(names_of(described["parts"][part].get("frozen_zero")))
            idle = [name for name in frozen if name in zero]
            state = "and add nothing" if idle else "as they were loaded"
            yield self.note(
                f"from step {steps_of(run)[0]}: {len(frozen)} of "
                f"{counted(total, 'pair')} of adapter {adapter} are frozen {state}, "
                f"while the others learn: {in_words(frozen)}",
                cause="Something froze these layers after get_peft_model: a loop over "
                "the lower layers, or over names that match only some. Fine if they "
                "should stay frozen, or train later.",
                fix="Do not change requires_grad after get_peft_model, or match "
                "'lora_'; to adapt only some layers use layers_to_transform=[...].",
                places={"param": idle or frozen},
                steps=steps_of(run),
                reason="some-pairs",
                evidence={
                    "frozen_pairs": len(frozen),
                    "frozen_at_zero": len(idle),
                    "pairs": total,
                },
                healthy="all pairs of one adapter are trainable, or none is",
            )

    def _kept(self, run: Run, adapter: str, described: Described) -> Results:
        """Find other parts that are frozen while the adapter's pairs learn."""
        for part in frozen_parts(run, adapter, described):
            waiting = not part.off and wait_for_thawing(run, part.names)
            yield self.finding(
                Severity.INFO if waiting else Severity.WARNING,
                f"from step {steps_of(run)[0]}: {part.what} of adapter {adapter} is "
                f"frozen{' and not in use' if part.off else ''}, while its pairs "
                f"learn: {in_words(part.names)}",
                cause=part.cause,
                fix=part.fix,
                places={
                    "param": part.names,
                    "call": [call for call in ("delete_adapter",) if part.off],
                    "config": part.field,
                },
                steps=steps_of(run),
                reason=part.reason,
                evidence={"trainable": 0, "switched_off": len(part.off)},
                healthy=f"the parameters of {part.what} require gradients",
            )


def _besides(parameters: int) -> str:
    if not parameters:
        return "and nothing else is trainable"
    return f"while {parameters:,} parameters elsewhere are trainable"


def _frozen(described: Described) -> list[str]:
    parts = described["parts"]
    first = [part for part in ("lora_B", "lora_A") if part in parts]
    order = [*first, *(part for part in parts if part not in first)]
    return [name for part in order for name in names_of(parts[part].get("frozen"))]
