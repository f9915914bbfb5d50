"""The rule NUM012, term-without-gradient.

## What it does
Finds a part of the loss that changes from step to step and has no gradient: it is added
to the logged loss, but nothing is learned from it.

## Why is this bad?
A balance loss of experts, a z-loss or a penalty that enters the sum through `.item()`,
`.detach()` or `torch.no_grad()` is in the curve but not in the training. The experts
collapse, the logits grow, and the loss looks as if the term were there.

## Evidence
The graph of the loss that backward is called on holds a sum with a term that has no
node. Where all other terms are cross entropies, their values are computed from what
they saved; the rest of the loss is the part without a gradient. It is measured in the
first steps and on a schedule.
A finding needs 3 such measurements, each above 1e-4 of the loss, that differ by more
than 2e-6 of it: a constant that is added on purpose is the same each time. Measured:
rounding left up to 1.3e-7 of the loss (means and sums over 64 to 16,384 tokens and 100
to 32,000 classes, float32); a z-loss of weight 1e-2 on a LoRA run differed by 7.7e-5 of
the loss within 3 steps, one of weight 1e-4 by 2.6e-6 within 8.
By hand: `loss.grad_fn.next_functions`, level by level; a summand without a graph is
`(None, 0)`.

## What to try
1. Keep the term as a tensor in the sum; `.item()` and `.detach()` are for the log.
2. Look for a `torch.no_grad()` or a `.data` around its computation.

## Known problems
Where a part of a model is frozen, its own loss has no graph, and is added all the same:
there it is info. A model with adapters is no such case.
Beside other losses than cross entropies (label smoothing, focal, preference losses) and
in half precision the value of the term cannot be read, and nothing is reported.

## References
- torch, `torch.Tensor.detach` and `torch.Tensor.item` (neither keeps a graph)
- Zoph et al. 2022, ST-MoE, arXiv:2202.08906 (balance loss and z-loss of a router)
"""

import numpy as np

from ftlab.rules.rule import Results, Rule, Run, Severity, needs_operations
from ftlab.rules.words import at_steps, number

LOOKS = 3
"""Measurements that must have shown the term."""

SHARE = 1e-4
"""Of the loss, which the term must exceed in each of them."""

SPREAD = 2e-6
"""Of the loss, by which they must differ: a constant does not."""


class TermWithoutGradient(Rule):
    """Finds terms of the loss that were taken out of the graph."""

    code = "NUM012"
    requires = needs_operations(
        "backward",
        "the loss that backward is called on",
        "ftlab.watch(...) with its standard probes, for 3 steps at least",
    )

    def applies(self, run: Run) -> bool:
        """Tell whether a summand without a graph was seen, or no step at all."""
        return not len(run.steps) or "constant_share" in run.steps.columns

    def check(self, run: Run) -> Results:
        """Yield one finding."""
        steps = run.steps
        if "constant_share" not in steps.columns:
            return
        term, share = steps["constant_loss"], steps["constant_share"]
        seen = np.isfinite(term) & np.isfinite(share)
        if seen.sum() < LOOKS:
            return
        term, share, at = term[seen], np.abs(share[seen]), steps.step[seen]
        loss = float(np.median(np.abs(term) / np.maximum(share, SHARE)))
        if share.min() < SHARE or np.ptp(term) < SPREAD * loss:
            return
        frozen = _has_frozen_part(run)
        yield self.finding(
            Severity.INFO if frozen else Severity.WARNING,
            f"{at_steps(int(at[0]), int(at[-1]))}: {number(100 * float(share.mean()))} "
            "% of the loss is a term that has no gradient: it varies by "
            f"{number(float(np.ptp(term)))}, but nothing is learned from it",
            cause="A part of the model is frozen, and its loss is added; or the term "
            "was taken out of the graph by .item(), .detach() or no_grad()."
            if frozen
            else "The term was taken out of the graph before it was added: by .item(), "
            ".detach() or torch.no_grad().",
            fix="Add the tensor itself, and use .item() only for logging.",
            places={"object": "loss", "op": "add", "call": "item"},
            steps=(int(at[0]), int(at[-1])),
            evidence={
                "share": float(share.mean()),
                "spread": float(np.ptp(term)),
                "threshold": SHARE,
            },
            healthy="each term that changes has a graph",
        )


def _has_frozen_part(run: Run) -> bool:
    """Tell whether something is frozen that is not the base of an adapter."""
    model = run.facts.model
    trainable, parameters = model.get("trainable"), model.get("parameters")
    return not model.get("peft") and trainable != parameters
