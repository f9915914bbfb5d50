"""The rule NUM025, evaluation-loss-rises.

## What it does
Finds runs whose evaluation loss rises while the training loss keeps falling: the model
overfits.

## Why is this bad?
From that point on every step makes the model better at the samples it has seen and
worse at all others. The training loss looks better than ever, but the last checkpoint
is worse than a much earlier one.

## Evidence
The losses of the evaluations against the training loss of the steps between them, from
the start of the run; at least 6 evaluations. Evaluation *rises* when each of the last
three is above the lowest median of three by 2 % and by 8 times its noise (taken from
second differences); training *falls* when its mean since the turn is below that of as
many steps before it, by 3 standard errors. These fired in none of 4,000 simulated
healthy runs and in none of 48 real ones (`ftlab.runlog.divergence`).
A warning from 10 % above the lowest on, and then the finding says:
- *learnt-by-heart*: nothing picks the better checkpoint.
Reported as info, as there are legitimate reasons: below 10 %; *best-is-kept* where
`load_best_model_at_end` brings the best one back; *score-is-best* where accuracy, or
another score of the same evaluations, was never better than in the last three (a
classifier that is right more often, but more confident where it is wrong).
By hand: plot `eval_loss` and `loss` of `trainer.state.log_history`; or look at
`watch.divergence`.

## What to try
1. Stop at the minimum: `load_best_model_at_end=True`, `EarlyStoppingCallback`.
2. Fewer epochs, more or other samples, a lower rank, dropout, weight decay.
3. Are there duplicates, or is the training set shorter than it should be?

## Known problems
With an evaluation set of a different kind than the training set the loss rises without
overfitting: a held-out part of the training data would tell. Custom loops that evaluate
without a Trainer record no evaluations.

## References
- Prechelt 1998, Early Stopping - But When?
- github.com/Mormolykos/trainproof, examples/gallery/overfit (64 samples, 38 epochs:
  training 1.38 to 0.03, evaluation 1.25 to 3.76)
"""

from ftlab.rules.reading.metric_directions import by_name
from ftlab.rules.rule import Finding, Need, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, number
from ftlab.runlog.divergence import FEWEST, LAST, Comparison, comparisons

LOUD = 0.1
"""Share of the lowest evaluation loss from which on a rise is a warning."""


class EvaluationLossRises(Rule):
    """Finds training samples that are learnt by heart."""

    code = "NUM025"
    requires = Need(
        "evaluations",
        'eval_strategy="steps" and an eval_dataset, in a Trainer',
        lambda run: bool(run.evaluations),
    )
    caused_by = ("NUM026",)

    def applies(self, run: Run) -> bool:
        """Tell whether there are evaluations, or nothing has been stepped yet."""
        return bool(run.evaluations) or not len(run.steps.step)

    def check(self, run: Run) -> Results:
        """Yield one finding for each evaluation loss that parts from training."""
        run = run.whole
        if len(run.evaluations) < FEWEST:
            return
        for each in comparisons(run):
            if each.verdict == "diverges":
                yield self._finding(run, each)

    def _finding(self, run: Run, found: Comparison) -> Finding:
        now = float(found.evaluation[-1])
        rise = now / found.lowest - 1 if found.lowest > 0 else float("inf")
        reason = _reason(run)
        quiet = rise < LOUD or reason != "learnt-by-heart"
        steps = found.since, int(found.steps[-1])
        return self.finding(
            Severity.INFO if quiet else Severity.WARNING,
            f"{at_steps(*steps)}: {found.metric} rises, {number(found.lowest)} -> "
            f"{number(now)}, while the training loss falls, {number(found.before)} -> "
            f"{number(found.after)}",
            cause="The model overfits: it memorizes the training samples and does not "
            "generalize.",
            fix=f"Keep the checkpoint of about step {found.since}: "
            "load_best_model_at_end=True; use fewer epochs, or more samples.",
            places={"object": [found.metric, "loss"]},
            steps=steps,
            reason=reason,
            evidence={
                "since": found.since,
                "lowest": found.lowest,
                "latest": now,
                "training_before": found.before,
                "training_after": found.after,
                "evaluations": len(found.steps),
                "threshold": LOUD,
            },
            healthy="evaluation falls with training, and then levels off",
        )


def _reason(run: Run) -> str:
    if run.facts.training.get("load_best_model_at_end"):
        return "best-is-kept"
    series: dict[str, list[float]] = {}
    for each in run.evaluations:
        for name, value in each.metrics.items():
            series.setdefault(name, []).append(value)
    for name, values in series.items():
        way = by_name(name)
        if way is not None and way.greater and max(values[-LAST:]) >= max(values):
            return "score-is-best"
    return "learnt-by-heart"
