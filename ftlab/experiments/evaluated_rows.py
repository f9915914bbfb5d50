"""EXP020, evaluated-rows: evaluation and training agree on the same rows.

## What must hold
The loss that evaluation gives for a batch is that of training, in evaluation mode.

## Why
Another collator, another divisor or a ``compute_loss`` that does something else without
gradients makes an evaluation that says nothing of the training.

## When it does not apply
Loops of one's own, whose evaluation is not known.

## What to try
Let both compute the loss in one place.

## References
- transformers, `Trainer.prediction_step`
"""

import torch

from ftlab.executions.pairs import evaluating
from ftlab.executions.side import NotApplicableError, undisturbed
from ftlab.executions.wide import Wide
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.experiments.reported_loss import CLOSE
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome


class EvaluatedRows(Experiment):
    """One batch, evaluated, and in training's own loss."""

    code = "EXP020"
    name = "evaluated-rows"
    cheap = True
    relation = "evaluation gives the loss of training on the same rows"
    cause = "Evaluation computes another loss than training."
    fix = "Let training and evaluation compute the loss in one place."

    def run(self, live: Live) -> Outcome:
        """Evaluate the training batch."""
        if live.trainer is None:
            msg = "how the loop evaluates is not known; pass a trainer"
            raise NotApplicableError(msg)
        with undisturbed(live.side()), evaluating(live.model), Wide(), torch.no_grad():
            trained = float(live.computed())
            found = live.trainer.prediction_step(live.model, dict(live.batch), True)
        if found[0] is None:
            msg = "the trainer's evaluation gives no loss"
            raise NotApplicableError(msg)
        evaluated = float(found[0].mean())
        evidence: dict[str, float | int | str] = {
            "training": trained,
            "evaluation": evaluated,
        }
        if abs(evaluated - trained) <= CLOSE * max(abs(trained), 1e-6):
            return self.outcome(
                "holds", f"{evaluated:.4g} = {trained:.4g}", evidence=evidence
            )
        return self.outcome(
            "broken",
            f"evaluation gives {evaluated:.4g}, training's loss is {trained:.4g}",
            places=(Place("call", "prediction_step"),),
            evidence=evidence,
        )
