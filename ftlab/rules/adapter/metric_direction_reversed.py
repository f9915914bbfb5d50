"""The rule ADP058, metric-direction-reversed.

## What it does
Finds Trainers that take the worst checkpoint for the best: their metric is better when
smaller but they look for the greatest value, or vice versa.

## Why is this bad?
`greater_is_better` is True by default for every `metric_for_best_model` whose name does
not end in "loss". With perplexity, a word error rate or a mean absolute error the
checkpoint with the highest one is kept, protected from `save_total_limit`, and loaded
at the end; early stopping stops a run that is improving. Nothing warns.

## Evidence
The trainer's arguments, where something depends on the choice
(`load_best_model_at_end`, or `save_strategy="best"`), against the direction of the
metric. *name*: its last words, "eval_" or a dataset's name before them, are a metric
that is known (`ftlab/rules/reading/metric_directions.py` lists them); a word such as
"neg" or "reduction" in it makes it unknown. Values that such a metric never takes
(negative ones, a perplexity below 1) belong to a metric that was negated: then nothing
is reported. *computed*: at three different losses or more its values are the loss, its
exponential or its bits, or one of these turned round, up to 1e-3 of the value. A metric
that merely falls with the loss is not judged. Measured with transformers 5.23 on a tiny
Llama with LoRA, evaluated every 2 of 8 steps: perplexities 114.5, 104.0, 95.7 and 88.3;
checkpoint-2, the first, is loaded as best. By hand: `trainer.state.best_metric` against
`[e["eval_perplexity"] for e in trainer.state.log_history if "eval_perplexity" in e]`.

## What to try
1. `TrainingArguments(..., greater_is_better=False)`, or True for a score.
2. After training: load the checkpoint that is best by `log_history`, if
   `save_total_limit` has kept it.

## Known problems
A custom function that returns 1 - WER under the name "wer" is taken for WER. A metric
of unknown name that is not a function of the loss is not judged.

## References
- huggingface/transformers#31142 (the worst model was kept: a name without "loss")
- huggingface/transformers#7431 (the default)
"""

from ftlab.rules.reading.metric_directions import (
    Direction,
    by_loss,
    by_name,
    contradicts,
)
from ftlab.rules.reading.saving import needs_model, span
from ftlab.rules.rule import Finding, Results, Rule, Run


class MetricDirectionReversed(Rule):
    """Finds Trainers that look for the worst checkpoint."""

    code = "ADP058"
    layer = "rollback"
    requires = needs_model

    def applies(self, run: Run) -> bool:
        """Tell whether a Trainer chooses a checkpoint by a metric."""
        args = run.facts.training.get("args") or {}
        chooses = args.get("load_best_model_at_end") is True
        chooses |= args.get("save_strategy") == "best"
        known = bool(args.get("metric_for_best_model"))
        return not run.facts.model or (
            chooses and known and isinstance(args.get("greater_is_better"), bool)
        )

    def check(self, run: Run) -> Results:
        """Yield one finding where the direction is known and the other one is used."""
        args = run.facts.training.get("args") or {}
        metric = _full(str(args.get("metric_for_best_model", "")))
        values, losses = _values(run, metric)
        direction = by_loss(values, losses) or by_name(metric)
        if direction is None or contradicts(direction, metric, values):
            return
        if args.get("greater_is_better") is (not direction.greater):
            yield self._finding(run, metric, direction, values)

    def _finding(
        self, run: Run, metric: str, direction: Direction, values: list[float]
    ) -> Finding:
        named = direction.told_by == "name"
        why = "as its name says" if named else f"it is {direction.told_by}"
        better = "greater" if direction.greater else "smaller"
        worst = min if direction.greater else max
        met = f" ({worst(values):.4g} of {len(values)})" if values else ""
        return self.warning(
            "the checkpoint with the "
            f"{'smallest' if direction.greater else 'greatest'} {metric}{met} is taken "
            f"for the best, but {better} is better: {why}",
            cause="greater_is_better is False for a metric that grows as the model "
            "improves."
            if direction.greater
            else "greater_is_better is True, the default for every metric whose name "
            "does not end in 'loss'.",
            fix=f"TrainingArguments(..., greater_is_better={direction.greater}).",
            places={
                "config": [
                    "greater_is_better",
                    "metric_for_best_model",
                    "load_best_model_at_end",
                ]
            },
            steps=span(run),
            reason="name" if named else "computed",
            evidence={"metric": metric, "evaluations": len(values)},
            healthy="greater_is_better matches the metric's direction",
        )


def _full(metric: str) -> str:
    """Return the key that the Trainer looks the metric up by."""
    return metric if metric.startswith("eval_") else f"eval_{metric}"


def _values(run: Run, metric: str) -> tuple[list[float], list[float]]:
    """Return the metric of each evaluation, and the losses if all have one."""
    found = [each.metrics for each in run.evaluations if metric in each.metrics]
    values = [float(each[metric]) for each in found]
    if metric == "eval_loss" or any("eval_loss" not in each for each in found):
        return values, []
    return values, [float(each["eval_loss"]) for each in found]
