"""The rule ADP023, adapter-applied-twice.

## What it does
Finds base weights that already contain an adapter's delta while the adapter is active
on them: from the start, or since custom code added it.

## Why is this bad?
The model computes W + 2 D where W + D was trained: it overshoots what it learned, and
training continues from weights it never had. Shapes fit and nothing warns about it.

## Evidence
Measured from the model alone, before the first step. The delta D = scaling B A is
written as U diag(s) V^T; in that basis the base weight is Y = U^T W V. The slope of
diag(Y) on s is 1 where D is in W, and 0 where it is not; the off-diagonal of Y, to
which D adds nothing, gives the slope's standard deviation by chance, that of correlated
weights in the adapter's own directions included. A module counts when this deviation is
at most 0.1. Reported when at least 2 modules count and 80 % of them lie at 1 within
0.15 or 2 deviations (*from-start*).

Measured on tiny models of 4 families, ranks 1, 2 and 8, 8 to 200 steps: slopes that
count lie within -0.1 to 0.1 for unmerged bases, within 0.9 to 1.1 for merged ones;
after one single step deviations are 0.4 to 8, and nothing is reported. False alarms
were counted on synthetic weights with a decaying spectrum (singular value k^-0.3 and
k^-0.7) and adapters that point, by up to all of their length, along their base's
largest singular vectors, as trained ones may: none in 800 unmerged models of 8 layers.
Of 800 merged ones, all are found where the adapter is random against its base and a
fifth of its norm; the more it points along the base, the larger it must be, up to
never.
By hand: `W, D = m.base_layer.weight, m.get_delta_weight("default")`;
`(W * D).sum() / D.square().sum()` is near 1.

In the run: a base weight was changed by a multiple of what its adapter adds, as ADP009
measures it, and an update or an evaluation followed in which the adapter was active,
not disabled or merged (*by-hand*). From half of the delta on.

## What to try
1. Load the adapter on the original base: compare `base_model_name_or_path`.
2. Or use the merged model without the adapter.
3. For an evaluation: `merge_adapter()` before and `unmerge_adapter()` after it, or
   nothing at all: the adapter works without a merge.
4. Save a merged model under a name and in a folder that no adapter's configuration
   points to.

## Known problems
A delta that is small against the noise of its base, or that points along its base, so
that slopes are neither 0 nor 1, cannot be decided: *not checked*. Initialisations that
subtract their start from the base (PiSSA, OLoRA, LoRA-GA) give 0 or -1; the adapter of
such a run loaded on the whole base, without that subtraction, is rightly reported.
4-bit and 8-bit bases, DoRA and embeddings are not measured. A base that was merged with
a different scaling gives a different slope, and is not reported. A second adapter
trained after the first was merged is a different delta, and not reported. In the run:
moving a part of an adapter into the base and removing it from B at once is reported all
the same.

## References
- radixark/miles#1091 (merged base plus adapter: the adapter counts twice)
- huggingface/peft#1355, #1064, #1040 (merging twice)
"""

import statistics
from collections.abc import Sequence

from ftlab.rules.reading.base_weights import (
    NEAR,
    InBase,
    in_between,
    merged_already,
    too_small,
)
from ftlab.rules.reading.hand_merges import HandMerge, hand_merges, kind_of
from ftlab.rules.reading.saving import needs_peft_model, span, start
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import counted, in_words, number

HALF = 0.5
"""Times that weights must hold what their adapter adds."""

_ADDED = frozenset({"right", "repeated", "other"})
"""What ADP009 does not tell of an adapter that is on."""


class AdapterAppliedTwice(Rule):
    """Finds adapters that are merged into the base they are put on."""

    code = "ADP023"
    status = "stable"
    requires = needs_peft_model
    caused_by = ("ADP024",)

    def check(self, run: Run) -> Results:
        """Yield one finding per adapter."""
        facts = start(run)
        found = list(merged_already(facts))
        yield from (self._finding(run, each) for each in found)
        small, between = too_small(facts), in_between(facts)
        if small and not found:
            yield self.cannot_tell(
                f"what {', '.join(small)} adds is too small relative to its base "
                "weights to tell whether they already contain it",
                "look again after more steps of training",
            )
        elif between and not found:
            yield self.cannot_tell(
                f"what {', '.join(between)} adds is aligned with its base weights, so "
                "that they look as if they contained a part of it",
                "ftlab.preflight(model, trained_in=run) compares them with those of "
                "the training run",
            )
        yield from self._by_hand(run)

    def _by_hand(self, run: Run) -> Results:
        """Yield the first time that each adapter was on what it was added to."""
        told: set[str] = set()
        for seen in hand_merges(run):
            live = [each for each in seen if each.live and each.factor >= HALF]
            if live and kind_of(live)[0] in _ADDED and live[0].adapter not in told:
                told.add(live[0].adapter)
                yield self._added(live)

    def _added(self, live: Sequence[HandMerge]) -> Finding:
        names = [f"{each.module}.base_layer.weight" for each in live]
        step, factor = live[0].step, statistics.median(each.factor for each in live)
        return self.error(
            f"step {step}: {counted(len(names), 'base weight')} "
            f"{'was' if len(names) == 1 else 'were'} changed by {number(factor)} times "
            f"what the adapter {live[0].adapter!r} adds, which is still active: "
            f"{in_words(names)}",
            cause="Custom code adds the adapter to its base weights, usually for an "
            "evaluation or a save, and does not subtract it again: the model computes "
            "W + 2 D.",
            fix="Subtract what was added as soon as it was used, or use "
            "merge_adapter() and unmerge_adapter(); reload the base before continuing.",
            places={"param": names},
            steps=(step, step),
            reason="by-hand",
            evidence={"factor": factor, "layers": len(names), "threshold": HALF},
            healthy="an adapter that is merged by hand is removed, or reset to 0",
        )

    def _finding(self, run: Run, found: InBase) -> Finding:
        names = [f"{module}.base_layer.weight" for module in found.modules]
        times = f"{number(found.slope)} times"
        return self.error(
            f"before step {span(run)[0]}: {len(names)} of "
            f"{counted(found.measured, 'base weight')} already contain what the "
            f"adapter {found.adapter!r} adds, {times}: {in_words(names)}",
            cause="The adapter was merged into the weights that are used as its base "
            "(merge_and_unload, then saved as the base model), and is applied to them "
            "again: the model computes W + 2 D.",
            fix="Load the adapter on the original base model, or use the merged model "
            "without it.",
            places={"param": names, "call": "merge_and_unload"},
            steps=span(run),
            reason="from-start",
            evidence={
                "slope": found.slope,
                "chance": found.sigma,
                "modules": len(names),
                "measured": found.measured,
                "threshold": 1 - NEAR,
            },
            healthy="the slope of a base weight on its adapter's delta is 0",
        )
