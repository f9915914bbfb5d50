"""The rule ENV003, evaluation-never-comes.

## What it does
Finds Trainers that should evaluate, choose their best checkpoint or stop early, but
that never reach an evaluation, or enough of them.

## Why is this bad?
`load_best_model_at_end` then loads nothing: the last model is returned as if it had
been chosen. Early stopping never stops. Nothing is raised and nothing is logged.

## Evidence
The evaluations that come in the planned steps, counted from `eval_strategy`,
`eval_steps` and `eval_delay`, and from what the installed Trainer's own callback does
at its last step. A warning where a choice depends on one (load_best_model_at_end,
save_strategy="best", early stopping) or where the length comes from num_train_epochs;
info where max_steps was set, since a short trial is set up like this on purpose.
*patience* (info): early stopping that needs more evaluations than there are.
Measured: `eval_steps=100` in 6 steps with load_best_model_at_end gives no evaluation
and no best checkpoint with transformers 4.57, and one at the end with 5.23; with
`eval_delay=100` there is none in both.
By hand: `[e for e in trainer.state.log_history if "eval_loss" in e]`, and
`trainer.state.best_model_checkpoint` after training.

## What to try
1. `eval_steps` (and `save_steps`) that divide the run, or a fraction: `eval_steps=0.1`.
2. `eval_strategy="epoch"`.
3. A smaller `eval_delay`.

## Known problems
Where a custom callback or method evaluates, nothing is reported.

## References
- transformers, DefaultFlowCallback.on_step_end
- huggingface/transformers#28500 (the best model was silently not loaded), #44146
"""

from ftlab.rules.reading.asked import (
    arguments,
    asked,
    evaluations,
    is_trainers,
    made,
    planned_steps,
)
from ftlab.rules.reading.saving import needs_model, span
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity, to_runs_with
from ftlab.rules.words import counted


class EvaluationNeverComes(Rule):
    """Finds plans to evaluate, or to choose, that never come to pass."""

    code = "ENV003"
    layer = "rollback"
    requires = needs_model
    applies = to_runs_with(
        lambda run: arguments(run).get("eval_strategy") in ("steps", "epoch")
    )

    def check(self, run: Run) -> Results:
        """Yield one finding where no evaluation, or too few of them, come."""
        count, patience = evaluations(run), made(run).get("patience") or []
        if not is_trainers(run) or count is None:
            return
        if count <= 0:
            yield self._none(run)
        elif patience and count <= min(patience):
            yield self._too_few(run, count, min(patience))

    def _none(self, run: Run) -> Finding:
        args, steps = arguments(run), planned_steps(run)
        names = {
            "load_best_model_at_end": args.get("load_best_model_at_end") is True,
            "save_strategy": args.get("save_strategy") == "best",
            "early_stopping_patience": bool(made(run).get("patience")),
        }
        waits = [name for name, waiting in names.items() if waiting]
        loud = waits or not asked(run).get("max_steps")
        by = "eval_delay" if asked(run).get("eval_delay") else "eval_steps"
        value = asked(run).get(by, args.get("logging_steps"))
        what = f", and {', '.join(waits)} waits for one" if waits else ""
        return self.finding(
            Severity.WARNING if loud else Severity.INFO,
            f"no evaluation in {counted(steps, 'step')}: {by} is {value}{what}",
            cause="The first evaluation is scheduled after the end of the run.",
            fix=f"eval_steps={max(1, steps // 10)}, or eval_strategy='epoch', without "
            "an eval_delay beyond the end.",
            places={"config": (by, *waits)},
            steps=span(run),
            reason="none",
            evidence={"evaluations": 0, "planned_steps": steps},
            healthy="an evaluation before the run ends",
        )

    def _too_few(self, run: Run, count: int, patience: int) -> Finding:
        return self.note(
            f"early stopping waits for {patience} evaluations without progress, but "
            f"there are only {count} in all",
            cause="The first evaluation is the best so far: stopping takes one more "
            "than the patience.",
            fix="Evaluate more often, or lower early_stopping_patience.",
            places={"config": ["early_stopping_patience", "eval_steps"]},
            steps=span(run),
            reason="patience",
            evidence={"evaluations": count, "threshold": patience},
            healthy="more evaluations than early stopping waits for",
        )
