"""EXP010, attention-kind: the attention in use gives the same as the plain one.

## What must hold
The attention in use gives the same as the plain one.

## Why
Fused attention takes shortcuts: it may drop a mask, a soft cap or a window that the
plain one applies.

## When it does not apply
Models with one implementation of attention.

## What to try
Compare what both are given: a mask that one of them ignores (is_causal), a scale, a
window, a soft cap.

## References
- transformers, "Attention interface"
"""

from ftlab.executions.pairs import attention
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome


class AttentionKind(Experiment):
    """One step, under both settings."""

    code = "EXP010"
    name = "attention-kind"
    relation = "the attention in use gives the same as the plain one"
    cause = "One implementation reads the mask, the scale or the position differently."
    fix = (
        "Compare what both are given: a mask that one of them ignores (is_causal), a "
        "scale, a window, a soft cap."
    )

    def run(self, live: Live) -> Outcome:
        """Compare forward and backward."""
        return self.compared(live.of(attention(live.model, live.batch)))
