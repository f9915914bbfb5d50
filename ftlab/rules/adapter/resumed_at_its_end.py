"""The rule ADP046, resumed-at-its-end.

## What it does
Finds Trainers that resume from a checkpoint at which training is already complete.

## Why is this bad?
`max_steps` and `num_train_epochs` count from the start of the first run, not from the
checkpoint. If they are left unchanged, `train()` makes one more update and returns:
nothing is learned, no error is raised, and the resulting weights have had one more
update at, or beyond, the end of the schedule.

## Evidence
The step at which training goes on, which the Trainer reads from the checkpoint, and the
number of steps that it is to end at. There is no threshold. Measured with transformers
5.23, LoRA on a tiny Llama: resumed at step 12 with `max_steps=12` it makes 1 update,
with `max_steps=24` it makes 12.
By hand: `trainer.state.global_step` and `trainer.state.max_steps` in a callback's
`on_train_begin`, or `global_step` in the checkpoint's `trainer_state.json`.

## What to try
1. Raise `max_steps`, or `num_train_epochs`, to the total of both runs.
2. For a second stage on different data: load only the weights, without
   `resume_from_checkpoint`.

## Known problems
A script that is run again after completion, and resumes automatically, is reported too:
it changes the weights by one update.

## References
- huggingface/transformers, `Trainer.train(resume_from_checkpoint=...)`
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.rules.reading.saving import first_facts, needs_model, span
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run


class ResumedAtItsEnd(Rule):
    """Finds resumed trainings of which nothing is left."""

    code = "ADP046"
    name = "resumed-at-its-end"
    since = "0.1.0"
    status = "preview"
    layer = "rollback"
    requires = (needs_model,)

    def applies(self, run: Run) -> bool:
        """Tell whether training goes on at a later step."""
        return not run.facts.model or first_facts(run).step > 0

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding where the first step is the last one or beyond."""
        first = first_facts(run)
        end = first.training.get("max_steps")
        trainer = first.training.get("trainer_class")
        if not trainer or not isinstance(end, int) or not 0 < end <= first.step:
            return
        yield self.finding(
            Severity.WARNING,
            f"the {trainer} resumes at step {first.step} of {end}: nothing is left to "
            "train",
            cause="max_steps and num_train_epochs count from the start of the first "
            "run, and the checkpoint is at their end: train() makes one update and "
            "returns.",
            fix="Raise max_steps or num_train_epochs to the total of both runs; or "
            "load only the weights, without resume_from_checkpoint.",
            places=[
                Place("config", "max_steps"),
                Place("config", "num_train_epochs"),
                Place("call", "train"),
            ],
            steps=span(run, first.step),
            evidence={"reason": "at-its-end", "first_step": first.step, "end": end},
            healthy="the run's last step is above that of its checkpoint",
        )
