"""EXP007, deterministic: the same step twice is the same, bit for bit.

## What must hold
Forward and backward, from the same weights, batch and random state, give the same bits.

## Why
An operation without a fixed order of sums, or a state that a module keeps, makes runs
that cannot be repeated, and a difference between two of them then proves nothing.

## When it does not apply
Nothing: it is always tried. Dropout drops nothing meanwhile.

## What to try
``torch.use_deterministic_algorithms(True)`` names an operation that has no fixed order.

## References
- torch, "Reproducibility"
"""

from ftlab.executions.repeated import first_unlike
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome


class Deterministic(Experiment):
    """The same step twice."""

    code = "EXP007"
    name = "deterministic"
    relation = "the same step twice gives the same bits"
    cause = "An operation sums in no fixed order, or a module keeps something."
    fix = (
        "Set torch.use_deterministic_algorithms(True); if nothing is named, look at "
        "what the module keeps between calls."
    )

    def run(self, live: Live) -> Outcome:
        """Execute the step twice from the same state."""
        unlike = first_unlike(live.side())
        if unlike is None:
            return self.outcome("holds", "bit-equal in forward and backward")
        module, phase, relative = unlike
        return self.outcome(
            "broken",
            f"two equal steps part at {module} in {phase}, by {relative:.2g} of it",
            places=(Place("module", module),),
            evidence={"relative": relative},
        )
