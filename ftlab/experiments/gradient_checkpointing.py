"""EXP008, recomputation: gradient checkpointing gives the gradients of the plain run.

## What must hold
Gradient checkpointing gives the gradients of the plain run.

## Why
Forward is computed again in backward; what differs then (a mask drawn anew, a buffer
that moved, an input without gradient) gives other gradients, or none.

## When it does not apply
Models without gradient_checkpointing_enable(). Dropout drops nothing meanwhile.

## What to try
Use use_reentrant=False, and enable_input_require_grads() where the embedding is frozen.

## References
- transformers, `gradient_checkpointing_enable`
"""

from ftlab.executions.pairs import checkpointing
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome


class Recomputation(Experiment):
    """One step, under both settings."""

    code = "EXP008"
    name = "recomputation"
    relation = "gradient checkpointing gives the gradients of the plain run"
    cause = (
        "Recomputation does not repeat forward: something draws random numbers, keeps "
        "state, or loses its gradient in a reentrant checkpoint."
    )
    fix = (
        "Use use_reentrant=False, and enable_input_require_grads() where the "
        "embedding is frozen."
    )

    def run(self, live: Live) -> Outcome:
        """Compare forward and backward."""
        return self.compared(live.of(checkpointing(live.model, live.batch)))
