"""The rule ADP048, reference-off-start.

## What it does
Finds references in preference training that are not the initial policy: they are the
policy itself, or the base model under a previously trained adapter.

## Why is this bad?
DPO, KTO and a KL term keep the policy near a fixed model. Where the reference is the
policy, every log-ratio and every reward is always 0: the loss stays at log 2, the KL at
0, and nothing constrains the model. Where it is the base model under an adapter from
supervised training, the first step starts far away from it, and part of what was
learned there is unlearned.

## Evidence
On the first steps and now and then, some elements of the last module's output are kept
of each pass and compared bit for bit with those of the training pass; passes whose
adapters are in another state are never taken for the same.
- *copy*: a shallow copy of the model is run beside it, and gives what it gives.
- *base*: so does the model that a PeftModel was put around, called by itself: its
  layers were changed in place, and hold the adapter.
- *same-object*: the model itself is run twice, and the loss is log 2 (the logistic loss
  of a margin of 0) within 1e-5, or a sum of a few such, at 4 steps and more and at
  every one, while its outputs move.
Each needs 2 measured steps after the first one, and half of those measured; in 16 bits
and without PEFT's layers equal outputs are no proof of equal weights, and a model that
is run twice is not judged. Measured on a tiny GPT-2, 16 steps of DPO at 1e-3: 0.693147
at all steps with `copy.copy(model)`, 0.662 to 0.721 with `copy.deepcopy(model)`.
- *base-under-adapter*: in half of the steps the model runs without a graph and with all
  of its adapter layers off, while the adapter that is trained held values other than 0
  before the first step, and no optimizer held a state. It is only info: staying near
  the base is a valid choice too. Measured on a tiny Llama after 30 steps of supervised
  training: the first DPO loss is 0.598, with a copy of the adapter 0.693.
By hand: `(model(**batch).logits - reference(**batch).logits).abs().max()` is 0 before
the first step, and must not be 0 later.

## What to try
1. `reference = copy.deepcopy(model).eval()`, before the first step, under no_grad.
2. With a fresh adapter: `with torch.no_grad(), model.disable_adapter():`.
3. With a previously trained adapter: load it a second time under another name, frozen,
   and `set_adapter` for the reference pass and back; TRL's DPOTrainer does so.

## Known problems
Dropout makes the two passes differ, so that nothing is seen. Where the loss is another
one than DPO's, or has other terms, a model that is its own reference cannot be told
from policy gradients with one update per batch: old log-probabilities are the same pass
twice, and right, and where all rewards are alike their loss is constant too. A
reference adapter that is trained along with the policy looks like two adapters that
learn from each other, unless one knows by its name what it is for; it is not reported.
Nor is a second trained model, or a copy of something else: it is not watched.

## References
- huggingface/trl#2046, #5534 (one object as policy and reference)
- huggingface/trl#1311, #1627 (a loss that stays at 0.693 and rewards at 0)
- huggingface/trl#4723, #1193, #6591 (an adapter that was trained before: the base is
  the wrong reference)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.saving import PLAIN, first_facts, start
from ftlab.rules.reasons.repeated_passes import (
    KINDS,
    Repeated,
    loss_of_no_margin,
    most,
    repeated_passes,
    switched_off,
)
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import at_steps, counted
from ftlab.runlog.run import Run

_RUN = {
    "copy": "a shallow copy of the model",
    "base": "the model inside the PeftModel, called directly,",
    "same-object": "the model itself, a second time,",
}

_CAUSE = {
    "copy": "copy.copy(model) makes a second module with the same submodules: both "
    "share the same weights, which the optimizer updates.",
    "base": "get_peft_model replaces layers of the given model in place: calling it as "
    "the base model runs the adapter too.",
    "same-object": "The reference is the policy: the same object, or the model with "
    "its adapter still active. Every margin is 0, so the loss is constant.",
}

_FIX = {
    "copy": "reference = copy.deepcopy(model).eval(), before the first step.",
    "base": "Run the reference in `with torch.no_grad(), model.disable_adapter():`, or "
    "make a copy.deepcopy(base) before get_peft_model.",
    "same-object": "Run the reference in `with torch.no_grad(), "
    "model.disable_adapter():`, or on a copy.deepcopy(model) made before training.",
}


class ReferenceOffStart(Rule):
    """Finds references that move with the policy, or that it did not begin as."""

    code = "ADP048"
    name = "reference-off-start"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_step_values(
            "policy_passes",
            "outputs of the passes of a step",
            "ftlab.watch(...) with its standard probes",
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether there are passes beside those of the training."""
        columns = [c for c in KINDS if c in run.steps.columns]
        beside = any((run.steps[column] > 0).any() for column in columns)
        return not len(run.steps) or beside or bool(switched_off(run))

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the reference."""
        loss = loss_of_no_margin(run)
        for found in repeated_passes(run):
            if found.reason != "same-object" or loss is not None:
                yield self._repeated(found, loss)
                return
        adapters, steps = _taught(run), switched_off(run)
        if adapters and most(steps, run):
            yield self._base(adapters, steps)

    def _repeated(self, found: Repeated, loss: float | None) -> Finding:
        first, last = found.steps[0], found.steps[-1]
        seen = ""
        if loss is not None:
            seen = f"; the loss is {loss:.6g} at every step: that of a margin of 0"
        return self.finding(
            Severity.WARNING if loss is None else Severity.ERROR,
            f"{at_steps(first, last)}: {_RUN[found.reason]} gives bit for bit the same "
            f"output as the training pass, in {len(found.steps)} of "
            f"{counted(found.measured, 'measured step')}{seen}",
            cause=_CAUSE[found.reason],
            fix=_FIX[found.reason],
            places=[
                Place("object", "reference"),
                *([Place("call", "copy.copy")] if found.reason == "copy" else ()),
                Place("call", "disable_adapter"),
            ],
            steps=(first, last),
            evidence={
                "reason": found.reason,
                "steps": len(found.steps),
                "measured": found.measured,
                **({} if loss is None else {"loss": loss}),
            },
            healthy="after the first update the reference's output differs from the "
            "policy's",
        )

    def _base(self, adapters: list[str], steps: list[int]) -> Finding:
        names = ", ".join(adapters)
        return self.finding(
            Severity.INFO,
            f"{at_steps(steps[0], steps[-1])}: passes without a graph run the base "
            f"model, all adapters off, but the trained adapter {names} was not 0 when "
            "training began",
            cause="If these passes are the reference, it is not the initial policy, "
            "which is the base model with the loaded adapter.",
            fix="Load the adapter a second time under another name, frozen, and "
            "set_adapter to it for the reference pass; or leave it, if the policy "
            "should stay near the base.",
            places=[
                Place("object", "reference"),
                *(Place("object", f"adapter {name}") for name in adapters),
                Place("call", "disable_adapter"),
            ],
            steps=(steps[0], steps[-1]),
            evidence={"reason": "base-under-adapter", "steps": len(steps)},
            healthy="before the first step policy and reference agree",
        )


def _taught(run: Run) -> list[str]:
    """Name adapters that are trained, and were before; none where a run resumes."""
    facts = start(run)
    if first_facts(run).step > 0 or any(facts.get("optimizer_states") or ()):
        return []
    return [
        str(name)
        for name, row in (facts.get("adapters") or {}).items()
        if row["trainable"] and row["init"] in PLAIN and row["zero_b"] < row["pairs"]
    ]
