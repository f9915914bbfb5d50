"""The rule OPT024, averaging-factors-reversed.

## What it does
Finds an Adam whose betas are in the wrong order: (0.999, 0.9).

## Why is this bad?
The first moment is then an average over a thousand gradients, the second one over ten.
The direction lags behind by hundreds of steps, and is divided by the size of the last
few gradients: the updates are small at first, and keep going when they should turn.

## Evidence
The settings of the groups: beta1 is larger than beta2, and beta1 squared is at least
the root of beta2. Adam's proof of convergence asks for less than that; (0.95, 0.9) is
within it, (0.999, 0.9) is not. Only Adam, AdamW, NAdam and RAdam of torch, transformers
and bitsandbytes are judged: betas mean something different in others.
Measured on a small Llama in full fine-tuning, 64 steps at a rate of 1e-3, mean loss of
the last 8 (two seeds): (0.9, 0.999) 2.13 and 2.05, (0.999, 0.9) 2.52 and 2.43,
(0.95, 0.9) 2.31 and 2.22, (0.0, 0.999) 1.95 and 1.86.
By hand: `[group["betas"] for group in optimizer.param_groups]`.

## What to try
1. `betas=(0.9, 0.999)`, or (0.9, 0.95) as for large models.

## Known problems
A long first moment that was tuned on purpose is reported.

## Known myths
"beta1 = 0 is a mistake." It is an Adam without momentum, as Adafactor is, and learned
faster in the run above.

## References
- Kingma and Ba 2015, Adam (arXiv:1412.6980), theorem 4.1
"""

from typing import Any

from ftlab.rules.reading.groups import Group, groups_of
from ftlab.rules.rule import Results, Rule, Run, needs_facts
from ftlab.rules.words import counted

ADAMS = ("Adam", "AdamW", "NAdam", "RAdam", "Adam8bit", "AdamW8bit", "PagedAdamW")

SOURCES = ("torch", "transformers", "bitsandbytes")


class AveragingFactorsReversed(Rule):
    """Finds betas that stand in the wrong order."""

    code = "OPT024"
    status = "stable"
    requires = needs_facts(
        "optimizers",
        "the settings of the optimizer",
        "pass the optimizer: ftlab.watch(model, optimizer)",
    )

    def check(self, run: Run) -> Results:
        """Yield one finding over all groups."""
        found = [(g, betas) for g in groups_of(run) if (betas := _reversed(g))]
        if not found:
            return
        group, (first, second) = found[0]
        steps = (int(run.steps.step[0]), run.last_step) if len(run.steps) else (-1, -1)
        yield self.warning(
            f"betas = ({first:g}, {second:g}) in {counted(len(found), 'group')}: the "
            "first moment is averaged over more gradients than the second",
            cause=f"The betas of {group.kind} are in the wrong order: the direction "
            f"averages the last {round(1 / (1 - first))} gradients, the size only the "
            f"last {round(1 / (1 - second))}.",
            fix=f"betas=({second:g}, {first:g})",
            places={"optimizer": "betas"},
            steps=steps,
            evidence={
                "beta1": first,
                "beta2": second,
                "threshold": second**0.25,
                "groups": len(found),
            },
            healthy="beta1 below beta2, such as (0.9, 0.999)",
        )


def _reversed(group: Group) -> tuple[float, float] | None:
    betas: Any = group.values.get("betas")
    own = group.module.partition(".")[0] in SOURCES and group.kind in ADAMS
    if not own or not isinstance(betas, list) or len(betas) != 2 or None in betas:
        return None
    first, second = betas
    wrong = 1 > first > second and first**2 >= second**0.5
    return (first, second) if wrong else None
