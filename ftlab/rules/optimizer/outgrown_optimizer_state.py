"""The rule OPT006, outgrown-optimizer-state.

## What it does
Finds parameters whose shape changed while the optimizer keeps moments of the old one.

## Why is this bad?
The next step fails with "The size of tensor a must match the size of tensor b", in
optimizer code that says nothing about the cause; an optimizer whose state happens to
broadcast continues with moments that belong to other elements.

## Evidence
The shape of each parameter against the shape of its own moments, for optimizers of
`torch.optim`, read again when a parameter's shape changes, and judged once a step was
attempted with it: a resize after training does no harm. There is no threshold.
Seen with transformers 5.23: `resize_token_embeddings` gives the embedding's parameter
new data and keeps the parameter itself, so that the optimizer still holds it, with
moments of the old number of rows; an output head that is not tied is replaced, which is
OPT001. A state that did not fit when the run began was loaded like that: see ADP034.
By hand: `[p.shape for p, s in optimizer.state.items() if "exp_avg" in s and
s["exp_avg"].shape != p.shape]`.

## What to try
1. Resize before the optimizer is built.
2. In the middle of a run rebuild the optimizer afterwards, or drop the moments: `del
   optimizer.state[weight]`.

## Known problems
Optimizers of other libraries keep states of other shapes on purpose, and are not
checked.

## References
- transformers, `resize_token_embeddings`
- torch.optim, "Constructing it" (parameters must stay the same objects)
"""

from ftlab.records.facts import Facts
from ftlab.rules.reading.needs import needs_optimizers
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.reading.trained_with import Holds, steps_since, was_trained_with
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import counted, in_words


class OutgrownOptimizerState(Rule):
    """Finds moments of another shape than their parameter."""

    code = "OPT006"
    status = "stable"
    requires = needs_optimizers
    caused_by = ("ADP034",)

    def check(self, run: Run) -> Results:
        """Yield one finding per optimizer."""
        facts = run.facts
        if facts.step <= first_facts(run).step:
            return
        for index, optimizer in enumerate(facts.optimizers):
            names = list(optimizer.get("misfits", ()))
            if names and was_trained_with(run, _with_misfits(index, names)):
                yield self._finding(run, index, names)

    def _finding(self, run: Run, index: int, names: list[str]) -> Finding:
        first, last = steps_since(run, _with_misfits(index, names))
        return self.error(
            f"step {first}: optimizer {index} keeps moments of the wrong shape for "
            f"{counted(len(names), 'parameter')}: {in_words(names)}",
            cause="The parameter got data of a different shape after the optimizer had "
            "stepped (resize_token_embeddings, an assignment to .data).",
            fix="Resize before the optimizer is built, or rebuild it after the resize; "
            "del optimizer.state[weight] drops the moments of one weight.",
            places={
                "param": names,
                "optimizer": f"optimizer {index}",
                "call": "resize_token_embeddings",
            },
            steps=(first, last),
            reason="another-shape",
            evidence={"parameters": len(names), "threshold": 0},
            healthy="moments have the shape of their parameter",
        )


def _with_misfits(index: int, names: list[str]) -> Holds:
    """Ask for facts by which an optimizer has the same misfits."""

    def holds(facts: Facts) -> bool:
        known = facts.optimizers[index : index + 1]
        return any(list(each.get("misfits", ())) == names for each in known)

    return holds
