"""EXP011, precision: float32 and the precision in use differ by rounding alone.

## What must hold
Float32 and the precision in use differ by rounding alone.

## Why
float16 ends at 65,504 and bfloat16 keeps 8 bits: an overflow, a cast that is forgotten,
a kernel for one dtype alone change results beyond rounding.

## When it does not apply
Nothing: it is always tried.

## What to try
Keep the module that is named in float32, or use bfloat16 in place of float16.

## References
- ftlab, `ftlab.diff(model, batch, between="dtype")`
"""

from ftlab.executions.pairs import dtype
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome


class Precision(Experiment):
    """One step, under both settings."""

    code = "EXP011"
    name = "precision"
    relation = "float32 and the precision in use differ by rounding alone"
    cause = (
        "A value leaves the range of the precision in use, or is computed otherwise "
        "in it."
    )
    fix = (
        "Keep the module that is named in float32, or use bfloat16 in place of float16."
    )

    def run(self, live: Live) -> Outcome:
        """Compare forward and backward."""
        return self.compared(live.of(dtype(live.model, live.batch)))
