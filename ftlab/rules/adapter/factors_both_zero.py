"""The rule ADP039, factors-both-zero.

## What it does
Finds products of trained weights with two factors that are exactly 0, so that neither
can leave 0: VeRA's two vectors, LoHa's and LoKr's factors, both layers of a custom
bottleneck.

## Why is this bad?
The gradient of a factor is a product with the other one. With both at 0 all gradients
are exactly 0, for ever: a saddle that no optimizer leaves. Everything is trainable, in
the optimizer and active, but the model does not change. LoRA pairs are reported by
ADP001.

## Evidence
`weight_l2`, `has_grad` and `grad_l2` of the trainable tensors of one layer and adapter,
or of the matrices of one module. Two tensors are exactly 0 at each measurement, and all
of them have a gradient of exactly 0 at each step, 2 steps at least. There is no
threshold: a healthy start has one factor at 0, whose gradient is not 0. A layer that
has a counterpart with gradients (an expert that got no token) is excused.
By hand: `[n for n, p in model.named_parameters() if p.requires_grad and not p.any()]`
before the first step: at most one of a layer.

## What to try
1. Initialize one of the factors randomly: `reset_adapter_parameters(name)`,
   `reset_vera_parameters`, or kaiming_uniform_ for the layer that comes first.
2. VeRA: `d_initial=0.1`, the default; 0 makes both of its vectors 0.
3. In a bottleneck of your own: zeros only for the *last* layer.

## Known problems
Layers that are 0 and frozen are not checked. Factors in modules that are not side by
side are not recognised as belonging together; GRD003 names them without this reason.

## References
- NovaSky-AI/SkyRL#852 (both factors 0 after a reset)
- Kopiczko et al. 2024, VeRA, arXiv:2310.11454 (b is 0 at the start, d is 0.1)
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.needs import needs_gradients
from ftlab.rules.reading.tensors import params, records_of, routed, text_of
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_column
from ftlab.rules.words import at_steps, counted, in_words

MIN_STEPS = 2
"""Steps at which all gradients must have been 0."""

FACTORS = 2
"""Factors at 0 from which none can leave it."""


class FactorsBothZero(Rule):
    """Finds products that are 0 and stay so."""

    code = "ADP039"
    status = "stable"
    requires = (
        needs_gradients,
        needs_column("weight_l2", "the norms of the trained weights"),
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for all such products."""
        stuck = _still(run)
        groups: dict[tuple[str, str], list[NameRecord]] = defaultdict(list)
        for name in stuck:
            groups[_product(name)].append(name)
        zero = _zero(run)
        found = [
            [name for name in members if name.id in zero] for members in groups.values()
        ]
        found = [members for members in found if len(members) >= FACTORS]
        if found:
            yield self._finding(run, found)

    def _finding(self, run: Run, found: Sequence[Sequence[NameRecord]]) -> Finding:
        lost = [name for members in found for name in members]
        steps = run.steps.step
        first, last = int(steps[0]), int(steps[-1])
        return self.error(
            f"{at_steps(first, last)}: in {counted(len(found), 'layer')} two factors "
            "of one product are exactly 0, and so are all their gradients: "
            f"{in_words(name.name for name in lost)}",
            cause="The gradient of each is a product with the other: neither can ever "
            "leave 0. Both were set to 0 where one is enough.",
            fix="Initialize one of the two randomly (kaiming_uniform_), and leave only "
            "the one applied last at 0.",
            places=params(lost),
            steps=(first, last),
            reason="both-zero",
            evidence={
                "layers": len(found),
                "tensors": len(lost),
                "threshold": "exactly 0",
            },
            healthy="at the start one factor is 0, but its gradient is not",
        )


def _still(run: Run) -> list[NameRecord]:
    """Return the tensors of which every gradient was exactly 0."""
    has, l2 = run.matrix("has_grad"), run.matrix("grad_l2")
    if has.shape != l2.shape:
        return []
    got = has.known & (has.values > 0)
    pushed = (got & (l2.values != 0)).any(axis=0)
    names = records_of(run, has.ids)
    still = (got.sum(axis=0) >= MIN_STEPS) & ~pushed
    idle = routed(names, still)
    lost = np.flatnonzero(still & ~idle)
    return [names[index] for index in lost]


def _zero(run: Run) -> set[int]:
    """Return the ids of the tensors that were exactly 0 whenever measured."""
    weight = run.matrix("weight_l2").measured()
    zero = weight.known.any(axis=0) & ~(weight.known & (weight.values != 0)).any(axis=0)
    return set(weight.ids[zero].tolist())


def _product(name: NameRecord) -> tuple[str, str]:
    """Name what a tensor is a factor of: others of the same belong to it."""
    adapter, role = text_of(name, "adapter"), text_of(name, "role")
    module = text_of(name, "module")
    if adapter and role == "adapter":
        return module, adapter
    if adapter or len(name.shape) < 2:
        return name.name, ""
    return module.rpartition(".")[0], ""
