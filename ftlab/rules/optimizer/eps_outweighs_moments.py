"""The rule OPT021, eps-outweighs-moments.

## What it does
Finds an Adam whose eps is so large that the second moments hardly count.

## Why is this bad?
Adam divides by sqrt(v) + eps so that each weight moves by about the learning rate,
whatever the size of its gradient. Where eps is the larger part, the step is
lr / eps x gradient: that of SGD, at an unintended rate. With small gradients the
weights crawl, tensor by tensor as slowly as their gradients are small.

## Evidence
`eps_share`: of the elements whose first moment is not 0, the share in which eps is
larger than the root of the bias-corrected second moment; `update_l2` against the
learning rate. A tensor counts where at every measured update, including the first ones
of the run, and 3 at least,
- eps is above 1e-7 (torch's default is 1e-8) and outweighs 90 % of the elements, and
- the update is below 5 % of the learning rate per weight.
The finding needs half of all trained elements in such tensors.
Measured over the healthy runs of the gallery with Adam's defaults: in the median tensor
eps outweighs no element at any step. On a small Llama in full fine-tuning the update is
17 to 112 % of the rate per weight; LoRA at eps 0.1: all elements, and 0.03 to 1 %.
By hand: `(state["exp_avg_sq"].sqrt() < group["eps"]).float().mean()` per parameter.

## What to try
1. Leave eps at 1e-8, or 1e-6 where bf16 or a recipe asks for it.
2. Half-precision moments need a larger eps: keep the moments in float32 instead.

## Known problems
Gradients that become small because everything is learned are not judged, nor is a run
whose first steps were not recorded. Weight decay is part of `update_l2`: a large one
hides how small the step is. A large eps that was tuned together with the rate is
reported.

## Known myths
"Second moments below 1e-10 are a sign of numerical trouble." In the median healthy run
of the gallery that is so for 56 % of a tensor's elements: a gradient of 1e-4 makes a v
of 1e-11 in the first step. What matters is eps squared, 1e-16.
"Updates below 1e-5 of the weights are too small, and gradients of two tensors that
differ by more than 100 times are unhealthy." 26 of 164 healthy runs have such an
update, 85 of 155 such gradients: Adam cancels the difference.

## References
- Kingma and Ba 2015, Adam (arXiv:1412.6980), section 2.1
- mlpnlp/mlpnlp-nmt#4 (eps 0.1: training does not work well)
- NVIDIA-NeMo/Emerging-Optimizers#189 (where eps reshapes the algorithm)
"""

import numpy as np

from ftlab.rules.reading.early import MEASURED, from_the_start
from ftlab.rules.reading.groups import group_at, groups_of
from ftlab.rules.reading.tensors import elements, group_of
from ftlab.rules.rule import Results, Rule, Run, needs_column
from ftlab.rules.words import at_steps, counted, in_words, number

EPS = 1e-7
"""An eps above it was chosen; below, it is the gradients that are small."""

OUTWEIGHED = 0.9
"""Share of a tensor's elements."""

CRAWL = 0.05
"""Update per weight, over the learning rate."""

MOST = 0.5
"""Share of all trained elements."""


class EpsOutweighsMoments(Rule):
    """Finds an Adam that eps makes an SGD."""

    code = "OPT021"
    status = "stable"
    requires = needs_column(
        "eps_share",
        "the second moments against eps",
        "ftlab.watch(model, optimizer) with the standard probes",
    )

    def applies(self, run: Run) -> bool:
        """Tell whether any eps is above the usual ones, or nothing is known of it."""
        groups = groups_of(run)
        return not groups or any(group.number("eps") > EPS for group in groups)

    def check(self, run: Run) -> Results:
        """Yield one finding over all tensors that crawl."""
        early = from_the_start(run, "eps_share", "update_l2")
        if early is None:
            return
        groups = [group_at(groups_of(run), group_of(name)) for name in early.names]
        large = [g is not None and g.number("eps") > EPS for g in groups]
        sizes = elements(early.names)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = early["update_l2"] / np.sqrt(sizes) / early.rates
        slow = (early["eps_share"] >= OUTWEIGHED) & (moved < CRAWL)
        mask = early.always(slow) & np.array(large, bool)
        if sizes[mask].sum() < MOST * sizes.sum():
            return
        found = [name for name, bad in zip(early.names, mask, strict=True) if bad]
        group = next(g for g, bad in zip(groups, mask, strict=True) if bad)
        eps = group.number("eps") if group is not None else 0.0
        share, crawl = (
            float(np.nanmedian(each[:, mask])) for each in (early["eps_share"], moved)
        )
        first, last = int(early.steps[0]), int(early.steps[-1])
        yield self.warning(
            f"{at_steps(first, last)}: eps = {number(eps)} outweighs the second moment "
            f"in {number(100 * share)} % of the elements of "
            f"{counted(len(found), 'tensor')}, which move by {number(100 * crawl)} % "
            f"of the learning rate: {in_words(name.name for name in found)}",
            cause="Adam divides by sqrt(v) + eps, and eps dominates: the step is lr / "
            "eps x gradient, and small gradients are not scaled up.",
            fix="Leave eps at its default of 1e-8.",
            places={"optimizer": "eps", "param": [name.name for name in found]},
            steps=(first, last),
            evidence={
                "eps": eps,
                "eps_share": share,
                "threshold": OUTWEIGHED,
                "update_over_rate": crawl,
                "measured": MEASURED,
            },
            healthy="eps outweighs nothing, and weights move by 10 to 100 % of lr",
        )
