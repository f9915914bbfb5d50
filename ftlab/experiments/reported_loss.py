"""EXP005, reported-loss: the loss is the plain formula on these logits and labels.

## What must hold
The loss that training reports is the mean cross entropy of each token's prediction of
the next one, over the labels that are not -100.

## Why
Labels that are shifted twice or not at all, a sum in place of a mean, a divisor that
counts other tokens make a loss that cannot be compared with anybody else's, and
gradients of another scale or for another task.

## When it does not apply
Batches without one label per token, and models that do not predict the next token. A
loss with a term of its own (smoothing, an auxiliary loss) or of another kind
(preferences, rewards) *cannot be decided*; the ``label_smoothing_factor`` of a Trainer
is known.

## What to try
Leave the shift to the model, or do it yourself, and not both; divide by the number of
labels that are trained on.

## References
- transformers, `ForCausalLMLoss`
"""

from collections.abc import Iterator

import torch
from torch.nn.functional import cross_entropy

from ftlab.executions.pairs import evaluating
from ftlab.executions.side import NotApplicableError, WithoutDropout
from ftlab.executions.wide import Wide
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome

CLOSE = 1e-5
"""Relative difference of two losses that are one: both are computed in float64, but a
loss may pass through a number of Python's or a metric's in float32."""


class ReportedLoss(Experiment):
    """The loss as it is reported, and by the plain formula."""

    code = "EXP005"
    name = "reported-loss"
    cheap = True
    relation = "the loss is the mean cross entropy over the labels that are trained on"
    cause = "The loss is computed by another formula than that of a language model."
    fix = (
        "Shift labels once (transformers models do it themselves), ignore -100, and "
        "divide by the number of labels that are trained on."
    )

    def run(self, live: Live) -> Outcome:
        """Compute the loss again from logits and labels."""
        live.refuse_others()
        labels = live.batch.get("labels")
        ids = live.ids()
        if not isinstance(labels, torch.Tensor) or labels.shape != ids.shape:
            msg = "the batch has no labels by token"
            raise NotApplicableError(msg)
        with evaluating(live.model), WithoutDropout(), Wide(), torch.no_grad():
            logits = live.logits(live.batch)
            reported = float(live.computed())
        if logits.shape[:2] != labels.shape:
            msg = (
                f"{tuple(logits.shape[:2])} logits are not {tuple(labels.shape)} labels"
            )
            raise NotApplicableError(msg)
        return self._decided(live, reported, logits, labels)

    def _decided(
        self, live: Live, reported: float, logits: torch.Tensor, labels: torch.Tensor
    ) -> Outcome:
        (_, plain), *others = formulas(logits, labels, _smoothing(live))
        evidence: dict[str, float | int | str] = {"reported": reported, "plain": plain}
        counted = plain * int((labels[:, 1:] != -100).sum())
        counted /= max(int((labels != -100).sum()), 1)
        like = next((name for name, each in others if _close(reported, each)), "")
        if _close(reported, plain) or _close(reported, counted):  # each row's first too
            return self.outcome(
                "holds", f"{reported:.4g} = {plain:.4g}", evidence=evidence
            )
        says = f"the loss is {reported:.4g}, the plain formula gives {plain:.4g}"
        if not like:
            says += ": it has a term of its own, or is of another kind"
            return self.outcome("cannot be decided", says, evidence=evidence)
        return self.outcome(
            "broken",
            f"{says}; it is what {like} gives",
            places=(Place("call", "loss"),),
            evidence=evidence,
        )


def formulas(
    logits: torch.Tensor, labels: torch.Tensor, smoothing: float = 0.0
) -> Iterator[tuple[str, float]]:
    """Yield ways in which a loss is computed, the plain one first."""
    ahead, now = labels[:, 1:], labels[:, :-1]
    yield "the plain formula", _mean(logits[:, :-1], ahead, smoothing)
    yield "labels that are not shifted", _mean(logits, labels)
    yield "labels that are shifted twice", _mean(logits[:, :-2], labels[:, 2:])
    yield "labels shifted the wrong way", _mean(logits[:, 1:], now)
    total = cross_entropy(
        logits[:, :-1].flatten(0, 1),
        ahead.flatten(),
        ignore_index=-100,
        reduction="sum",
    )
    yield "a sum over all labels", float(total)
    yield (
        "a sum over rows of their means",
        sum(
            _mean(one[None, :-1], row[None, 1:])
            for one, row in zip(logits, labels, strict=True)
        ),
    )
    rows = [
        _mean(one[None, :-1], row[None, 1:])
        for one, row in zip(logits, labels, strict=True)
        if bool((row[1:] != -100).any())
    ]
    yield "the mean over rows of their means", sum(rows) / max(len(rows), 1)
    yield "a divisor that counts masked labels too", float(total) / ahead.numel()


def _smoothing(live: Live) -> float:
    """Return the label smoothing that a trainer was asked for."""
    smoother = getattr(live.trainer, "label_smoother", None)
    return float(getattr(smoother, "epsilon", 0.0))


def _mean(logits: torch.Tensor, labels: torch.Tensor, smoothing: float = 0.0) -> float:
    made = cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=-100,
        label_smoothing=smoothing,
    )
    return float(made)


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= CLOSE * max(abs(b), 1e-6)
