"""EXP016, merged-adapter: merging changes nothing but rounding.

## What must hold
The base with the adapter merged into it gives what base and adapter give together.

## Why
A scale that merging does not know, an adapter merged twice, or weights of 16 or 4 bits
that round the adapter away make the deployed model differ from the trained one.

## When it does not apply
Models without ``merge_and_unload``.

## What to try
Merge into float32 or bf16 weights, not into 4 bits; merge once.

## References
- peft, "Model merging"
"""

from dataclasses import replace

from ftlab.executions.effects import LEFT, share_left
from ftlab.executions.pairs import Pair, evaluating, merge
from ftlab.executions.side import NotApplicableError, Side, undisturbed
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome, State


class MergedAdapter(Experiment):
    """Base and adapter, and the two in one."""

    code = "EXP016"
    name = "merged-adapter"
    relation = "the adapter merged into the base gives the same"
    cause = "Merging computes other weights than base and adapter together."
    fix = "Merge once, into weights of 16 or 32 bits, with the adapter's own scale."

    def run(self, live: Live) -> Outcome:
        """Merge a copy."""
        pair = merge(live.model, live.batch)
        if live.few_bits():
            return self._rounded(live, pair)
        return self.compared(live.of(pair))

    def _rounded(self, live: Live, pair: Pair) -> Outcome:
        """Measure how much of the adapter's effect is left in few bits."""
        assert isinstance(pair.a, Side)
        with undisturbed(pair.a, pair.b), evaluating(live.model):
            adapted = live.logits(live.batch)
            with live.model.disable_adapter():
                base = live.logits(live.batch)
            merged = replace(live, model=pair.b.model).logits(live.batch)
        share = share_left(adapted, base, merged)
        if share is None:
            msg = "the adapter has no effect yet"
            raise NotApplicableError(msg)
        says = f"{share:.0%} of the adapter's effect is left, merged into few bits"
        state: State = "broken" if share < LEFT else "holds"
        return self.outcome(state, says, evidence={"share": share, "threshold": LEFT})
