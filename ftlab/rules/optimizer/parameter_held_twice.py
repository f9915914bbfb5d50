"""The rule OPT007, parameter-held-twice.

## What it does
Finds parameters that an optimizer holds twice, and parameters held by two optimizers
that step one after the other.

## Why is this bad?
Such a parameter gets two updates from each gradient, and weight decay twice. It learns
at twice the configured rate, and Adam's step count is doubled. torch only warns about
the first, and says nothing about the second.

## Evidence
The parameter groups, compared by identity; there is no threshold on how many
(*twice-in-one*). For two optimizers (*in-two-optimizers*) the order of calls as well:
both step in 3 steps at least, with no backward and no cleared gradients in between. An
optimizer that is stepped from within another one's step (sharpness-aware, look-ahead)
does not count, and neither do optimizers that take turns, each with a backward of its
own. Measured: a head listed twice in AdamW, after 16 steps its `step` is 32 (torch
2.13).
By hand: `ids = [id(p) for g in optimizer.param_groups for p in g["params"]]`, then
`len(ids), len(set(ids))`.

## What to try
1. List each parameter once: `AdamW([p for p in model.parameters() if p.requires_grad])`
   holds the head (modules_to_save) already.
2. With two optimizers, leave out of the second what the first holds.

## Known problems
Two optimizers that share parameters on purpose and step together are reported.

## References
- pytorch/pytorch#40967 (several times in one group: updated several times)
- thu-ml/tianshou#395 (a union of two lists that overlap)
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.rules.reading.method_place import method_place
from ftlab.rules.reading.needs import needs_optimizers
from ftlab.rules.reading.wiring import steps_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import at_steps, counted, in_words

TOGETHER = 3
"""Steps in which two optimizers must have stepped one after the other."""


class ParameterHeldTwice(Rule):
    """Finds parameters that get two updates from one gradient."""

    code = "OPT007"
    status = "stable"
    requires = needs_optimizers

    def check(self, run: Run) -> Results:
        """Yield a finding per optimizer, and per pair of them."""
        held = [Counter(_names(each)) for each in run.facts.optimizers]
        for index, names in enumerate(held):
            twice = [name for name, count in names.items() if count > 1]
            if twice:
                yield self._in_one(run, index, twice)
        for second in range(len(held)):
            for first in range(second):
                shared = [name for name in held[second] if name in held[first]]
                steps = _together(run, first, second) if shared else []
                if len(steps) >= TOGETHER:
                    yield self._in_two(run, (first, second), shared, steps)

    def _in_one(self, run: Run, index: int, names: Sequence[str]) -> Finding:
        first, last = steps_of(run)
        return self.error(
            f"step {first}: {counted(len(names), 'parameter')} "
            f"{'is' if len(names) == 1 else 'are'} in optimizer {index} more than "
            f"once: {in_words(names)}",
            cause="They are listed twice in a group: each step updates them twice. A "
            "list of all trainable parameters already includes the head.",
            fix="Build the optimizer from a list without repetitions: AdamW([p for p "
            "in model.parameters() if p.requires_grad]).",
            places={"param": names, "optimizer": f"optimizer {index}"},
            steps=(first, last),
            reason="twice-in-one",
            evidence={"shared": len(names), "threshold": 0},
            healthy="each parameter appears once, in one group of one optimizer",
        )

    def _in_two(
        self,
        run: Run,
        pair: tuple[int, int],
        names: Sequence[str],
        steps: Sequence[int],
    ) -> Finding:
        one, other = pair
        return self.warning(
            f"{at_steps(steps[0], steps[-1])}: optimizer {one} and optimizer {other} "
            f"both update {counted(len(names), 'parameter')}, one after the other: "
            f"{in_words(names)}",
            cause=f"Optimizer {other} was built from parameters that optimizer {one} "
            "holds: both step them with the same gradient.",
            fix=f"Leave them out of optimizer {other}, or step only one optimizer.",
            places=[
                *(Place("param", name) for name in names),
                *(Place("optimizer", f"optimizer {each}") for each in pair),
                method_place(run, f"optimizer {other}", "step"),
            ],
            steps=(steps[0], steps[-1]),
            reason="in-two-optimizers",
            evidence={"shared": len(names), "steps": len(steps), "threshold": TOGETHER},
            healthy="each parameter appears once, in one group of one optimizer",
        )


def _names(optimizer: Mapping[str, Any]) -> list[str]:
    groups = optimizer.get("groups", ())
    return [str(name) for group in groups for name in group.get("names", ())]


def _together(run: Run, one: int, other: int) -> list[int]:
    """Return the steps in which both stepped with the same gradients."""
    wanted = {f"optimizer {one}", f"optimizer {other}"}
    found: list[int] = []
    stepped: set[str] = set()
    for entry in run.ledger:
        if entry.op in ("backward", "zero_grad"):
            stepped = set()
        elif entry.op == "step" and entry.target in wanted:
            if entry.detail.get("within"):
                return []
            stepped.add(entry.target)
            if stepped == wanted and entry.step not in found:
                found.append(entry.step)
    return found
