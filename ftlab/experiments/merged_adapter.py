"""EXP016, merged-adapter: merging changes nothing but rounding.

## What must hold
The base with the adapter merged into it gives what base and adapter give together.

## Why
A scale that merging does not know, an adapter merged twice, or weights of 16 or 4 bits
that round the adapter away make the deployed model another one than the trained.

## When it does not apply
Models without ``merge_and_unload``.

## What to try
Merge into float32 or bf16 weights, not into 4 bits; merge once.

## References
- peft, "Model merging"
"""

from ftlab.executions.pairs import merge
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome


class MergedAdapter(Experiment):
    """Base and adapter, and the two in one."""

    code = "EXP016"
    name = "merged-adapter"
    relation = "the adapter merged into the base gives the same"
    cause = "Merging computes other weights than base and adapter together."
    fix = "Merge once, into weights of 16 or 32 bits, with the adapter's own scale."

    def run(self, live: Live) -> Outcome:
        """Merge a copy."""
        return self.compared(live.of(merge(live.model, live.batch)))
