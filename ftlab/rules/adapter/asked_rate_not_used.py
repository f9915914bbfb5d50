"""The rule ADP047, asked-rate-not-used.

## What it does
Finds Trainers that resume with a learning rate in their arguments, but train with that
of the checkpoint.

## Why is this bad?
`resume_from_checkpoint` loads the optimizer's groups and the schedule after both were
created from the arguments. A new `learning_rate` is silently overwritten: the run that
should continue at a lower rate continues as before, and logs and configuration say
otherwise.

## Evidence
Where training goes on at a step above 0: the arguments' `learning_rate`, which the
Trainer has made its optimizer with, against the rates that its schedule starts from.
None of them is the same, up to 1 %: no schedule changes what it starts from. Groups
with rates of their own (LoRA+) leave one that is the same, and an optimizer that was
made with another rate than the arguments' is not judged. Measured with transformers
5.23, resumed at step 8 of a run at 3e-3 with `learning_rate=1e-4`: all groups are at
3e-3, 30 times the argument.
By hand: `trainer.lr_scheduler.base_lrs` against `trainer.args.learning_rate`.

## What to try
1. Load only the weights, and start a new run with the new rate:
   `PeftModel.from_pretrained(base, folder, is_trainable=True)`.
2. Remove `optimizer.pt` and `scheduler.pt` from a copy of the checkpoint. The moments
   are lost with them, and the schedule restarts.
3. In a callback's `on_train_begin` set `lr_scheduler.base_lrs` and each group's `lr`
   and `initial_lr`.

## Known problems
Leaving the argument at its default, because the checkpoint has the rate, is reported
too.

## References
- huggingface/transformers#27749, #34053 (rates after resume_from_checkpoint)
"""

import math
from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.rules.reading.saving import first_facts, needs_model, span, start
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

SAME = 1e-2
"""Relative distance up to which two rates are the same."""


class AskedRateNotUsed(Rule):
    """Finds learning rates that a checkpoint has overwritten."""

    code = "ADP047"
    name = "asked-rate-not-used"
    since = "0.1.0"
    status = "preview"
    layer = "rollback"
    requires = (needs_model,)

    def applies(self, run: Run) -> bool:
        """Tell whether training goes on at a later step."""
        return not run.facts.model or first_facts(run).step > 0

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding where no schedule starts from what was asked for."""
        first, facts = first_facts(run), start(run)
        asked = (first.training.get("args") or {}).get("learning_rate")
        rates = [float(each) for each in facts.get("base_rates", ()) if each]
        if not isinstance(asked, int | float) or not asked or not rates:
            return
        known = [each for each in facts.get("made_with", ()) if each is not None]
        if not any(_is_same(each, asked) for each in known):
            return
        if first.step > 0 and not any(_is_same(each, asked) for each in rates):
            yield self._finding(run, asked, rates)

    def _finding(self, run: Run, asked: float, rates: list[float]) -> Finding:
        first = first_facts(run).step
        rate = max(rates)
        return self.finding(
            Severity.WARNING,
            f"training continues at step {first} with a schedule of {rate:.3g}; "
            f"learning_rate={asked:.3g} is not used",
            cause="The checkpoint's optimizer.pt and scheduler.pt contain the rates of "
            "the previous run, and overwrite those of the arguments.",
            fix="Load only the weights and start a new run, or set the rates of "
            "lr_scheduler.base_lrs and the groups in a callback's on_train_begin.",
            places=[
                Place("config", "learning_rate"),
                Place("optimizer", "lr"),
                Place("file", "scheduler.pt"),
            ],
            steps=span(run, first),
            evidence={
                "reason": "resumed",
                "ratio": rate / asked,
                "asked": asked,
                "used": rate,
            },
            healthy="a resumed schedule starts from the rate in the arguments",
        )


def _is_same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SAME)
