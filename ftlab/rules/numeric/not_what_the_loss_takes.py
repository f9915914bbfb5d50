"""The rule NUM015, not-what-the-loss-takes.

## What it does
Finds losses that are given probabilities where they expect logits (`probabilities`), or
scores or probabilities where they expect log-probabilities (`scores`, `probabilities`).

## Why is this bad?
A cross entropy applies the softmax itself. For probabilities, which lie between 0 and
1, that softmax is nearly uniform: the loss cannot fall below ln(e + classes - 1) - 1,
which is 3.87 for 128 classes, and its gradients are small. A likelihood of unnormalized
scores has no lower bound: the model raises all scores without learning. `kl_div` of
probabilities is not a divergence: it is below 0, and lowest where all probability is on
the teacher's top token.

## Evidence
The graph of the loss that backward is called on: a softmax or a sigmoid, and nothing
but views and copies, lies before the log-softmax of a cross entropy, or before a binary
cross entropy with logits. For scores: no log-softmax lies before the likelihood, and
the sum of exp over a sample of rows is far from 1: its log is above 0.5 in magnitude
(0.0000001 after a log-softmax, measured; 4.85 for the raw logits of a small Llama).
`kl_div` has no node of its own: a mean or a sum of what has no gradient less t times
the input, with sums of t over the classes within 0.05 of 1 (t is kept). Its input is
made by a softmax or a sigmoid, or by a product with a matrix.
By hand: walk `loss.grad_fn.next_functions`, or print `logits.exp().sum(-1)` and
`logits.sum(-1)` of what the loss gets; a row of probabilities sums to 1.

## What to try
1. `cross_entropy` and `binary_cross_entropy_with_logits` expect the head's output.
2. `nll_loss` expects `log_softmax(logits)`.
3. Keep softmax and sigmoid for predictions.

## Known problems
Applying log-softmax twice changes nothing and is not reported. A likelihood of
probabilities (`nll_loss(softmax(x))`) is minus the expected accuracy, which may be
intended: info. Margins that are passed to `nll_loss` on purpose would be found. A
`kl_div` with `log_target`, or whose target has a gradient, cannot be told from other
products.

## References
- ariecattan/SciCo#2 (a softmax before CrossEntropyLoss, and the bound of the loss)
- microsoft/ProDA#20, microsoft/ProDA#43 (`kl_div` of two softmaxes)
- torch, `torch.nn.CrossEntropyLoss` ("unnormalized logits"), `torch.nn.NLLLoss`
"""

import math

import numpy as np

from ftlab.rules.reading.loss_rows import LossRow, loss_rows
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity, needs_column
from ftlab.rules.words import number

FAR = 0.5
"""Magnitude of the log of a row's sum of exp; 0 for log-probabilities."""

FROM_ONE = 0.05
"""How far the sums of probabilities may be from 1, in half precision."""

_SQUEEZED = ("softmax", "sigmoid")
_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")


class NotWhatTheLossTakes(Rule):
    """Finds losses that are given something else than they take."""

    code = "NUM015"
    status = "stable"
    requires = needs_column(
        "log_total",
        "what a cross entropy is given",
        "ftlab.watch(...) with its standard probes, and a loss with a cross "
        "entropy that is not fused with the head",
        "losses",
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for each such term of the loss."""
        for row in loss_rows(run):
            likelihood = row.text("loss") == "cross_entropy"
            normalised = bool(row.name.meta.get("normalised"))
            if row.text("loss") == "kl_div":
                yield from self._divergence(row)
            elif row.text("of") in _SQUEEZED and (normalised or not likelihood):
                yield self._probabilities(row)
            elif likelihood and not normalised:
                yield from self._scores(row)

    def _probabilities(self, row: LossRow) -> Finding:
        step, op = int(row.steps[0]), row.text("of")
        floor = math.log(math.e + row.classes - 1) - 1
        bound = f"; its loss cannot fall below {number(floor)}"
        takes_rows = row.text("loss") == "cross_entropy" and op == "softmax"
        return self.error(
            f"step {step}: {row.text('loss')} is given the output of a "
            f"{op}{bound if takes_rows else ''}",
            cause=f"The loss expects logits and applies the {op} itself: it is applied "
            "twice.",
            fix=f"Give the loss the logits, without the {op}.",
            places={"op": [op, row.text("loss")]},
            steps=(step, int(row.steps[-1])),
            reason="probabilities",
            evidence={"op": op, "threshold": "logits"},
            healthy="a loss that is given logits",
        )

    def _scores(self, row: LossRow) -> Results:
        total = row.columns["log_total"]
        if not len(total) or not (np.nan_to_num(total) > FAR).all():
            return
        step, given = int(row.steps[0]), row.text("of")
        wanted = given == "softmax"
        yield self.finding(
            Severity.INFO if wanted else Severity.ERROR,
            f"step {step}: nll_loss is given "
            f"{'probabilities' if wanted else 'scores'}, not log-probabilities (log of "
            f"a row's sum: {number(total[0])}, not 0)",
            cause="There is no log_softmax between the head and nll_loss, which only "
            "picks the label's entry and negates it.",
            fix="Use cross_entropy, or pass the output of log_softmax to nll_loss.",
            places={"op": ["cross_entropy", "nll_loss"]},
            steps=(step, int(row.steps[-1])),
            reason="scores",
            evidence={"log_total": float(total[0]), "threshold": FAR},
            healthy="rows of log-probabilities, whose exp sums to 1",
        )

    def _divergence(self, row: LossRow) -> Results:
        off = row.columns.get("off_total", np.empty(0))
        op, squeezed = row.text("of"), row.text("of") in _SQUEEZED
        normalised = bool(row.name.meta.get("normalised"))
        if normalised or not (squeezed or op in _PRODUCTS):
            return
        if not len(off) or not (off <= FROM_ONE).all():
            return
        step = int(row.steps[0])
        given = f"the output of a {op}" if squeezed else "scores"
        yield self.error(
            f"step {step}: kl_div is given {given}, not log-probabilities",
            cause="kl_div takes the logarithm of its target only: with such an input "
            "it is not a divergence, and its lowest value is below 0.",
            fix="Give kl_div the output of log_softmax, and the target's "
            "probabilities.",
            places={"op": ["kl_div", op]},
            steps=(step, int(row.steps[-1])),
            reason="probabilities" if squeezed else "scores",
            evidence={"op": op, "off_total": float(off[0]), "threshold": FROM_ONE},
            healthy="rows of log-probabilities, whose exp sums to 1",
        )
