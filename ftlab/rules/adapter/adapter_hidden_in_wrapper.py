"""The rule ADP022, adapter-hidden-in-wrapper.

## What it does
Finds a PeftModel that is wrapped in another module when a Trainer trains it.

## Why is this bad?
The Trainer looks only at the outer object. It is not a PeftModel, so checkpoints hold
the whole model in `model.safetensors` and no `adapter_config.json`; the adapter cannot
be loaded with from_pretrained, resuming and load_best_model_at_end treat it as a whole
model, and each checkpoint takes the size of the base.

## Evidence
The class of the model that the trainer has, and the path of the PeftModel within it.
There is no threshold. A warning; info where `save_strategy="no"` says that no
checkpoint is planned, since saving by hand may save the inner model. Reported only
where a Trainer trains; in a custom loop you decide what to save.
By hand: `isinstance(trainer.model, peft.PeftModel)`, and `ls checkpoint-*`.

## What to try
1. Put the wrapper's head on the base model, and get_peft_model around all of it, with
   the head in modules_to_save.
2. Or save the inner one in a callback: `trainer.model.inner.save_pretrained(folder)`.

## Known problems
A Trainer whose `_save` was overridden to save the inner model is reported too.

## References
- huggingface/transformers#24274 (the Trainer decides by the outer class)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.rules.reading.saving import needs_model, saving, span
from ftlab.rules.rule import Rule
from ftlab.rules.words import an
from ftlab.runlog.run import Run


class AdapterHiddenInWrapper(Rule):
    """Finds an adapter that the Trainer will not save as one."""

    code = "ADP022"
    name = "adapter-hidden-in-wrapper"
    since = "0.1.0"
    status = "stable"
    requires = (needs_model,)

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding where a trainer's model hides a PeftModel."""
        inner = str(saving(run).get("hidden") or "")
        trainer = str(run.facts.training.get("trainer_class") or "")
        if inner and trainer:
            yield self._finding(run, inner, trainer)

    def _finding(self, run: Run, inner: str, trainer: str) -> Finding:
        outer = str(run.facts.model.get("class") or "module")
        args = run.facts.training.get("args") or {}
        planned = args.get("save_strategy") != "no"
        return self.finding(
            Severity.WARNING if planned else Severity.INFO,
            f"from step {run.facts.step}: the model of the {trainer} is {an(outer)}, "
            f"with its PeftModel inside, as {inner}: checkpoints hold a full model and "
            "no adapter",
            cause="The PeftModel was wrapped in another module, but the Trainer looks "
            "only at the outer object when it saves, resumes and loads.",
            fix="Add the wrapper's parts to the base model before get_peft_model "
            "(heads in modules_to_save), so that the PeftModel is outermost; or save "
            f"model.{inner} yourself.",
            places=[Place("module", inner), Place("file", "model.safetensors")],
            steps=span(run, run.facts.step),
            evidence={"reason": "wrapper", "outer": outer, "inner": inner},
            healthy="the model that a Trainer trains is the PeftModel itself",
        )
