"""The rule MOD018, copy-runs-original.

## What it does
Finds copies of the model (a reference, an average, a best state) that are called and
run the model that they were copied from.

## Why is this bad?
The copy has weights of its own, but nothing reads them. A reference gives the policy's
outputs, so that a KL term is always 0; an average or a best state is evaluated with the
current weights. No number is wrong enough to be noticed.

## Evidence
A module of the watched model has a `forward` of its own instance: a function that is
bound to it, through wrappers, partials and closures. `copy.deepcopy` does not copy
functions, so a second module of the class that holds the same function runs the first
one. It is reported from the first step on in which such a copy was called and some of
its weights differed from the model's. There is no threshold: a copy that is never
called, or that still has the model's values, is not reported.
Measured with torch 2.13 on a tiny GPT-2 after 6 steps: weights of model and copy differ
by 6e-3, and their logits by exactly 0.
By hand: `vars(copied)["forward"] is vars(model)["forward"]`.

## What to try
1. Copy first, and wrap `forward` afterwards, also in the copy if needed.
2. `model.compile()` instead of `model.forward = torch.compile(model.forward)`: it
   survives copying.
3. `vars(copied).pop("forward")` restores the class's forward in a copy.
4. Set a bound method (`types.MethodType`) or a hook instead of a closure.

## Known problems
Copies are looked for at steps 0, 1, 2, 4, 8, and so on, and calls after the end of
watching are not seen. A copy that is compiled as a whole is not observed, nor one with
a different function set on it.
A copy that is itself trained, instead of the model, is reported by GRD003.

## References
- Python, `copy`: functions are returned unchanged
- huggingface/accelerate#1835, #1971; facebookresearch/fairscale#816
"""

import numpy as np

from ftlab.rules.rule import Results, Rule, Run, needs_steps_if_recorded
from ftlab.rules.words import at_steps, counted


class CopyRunsOriginal(Rule):
    """Finds copies whose weights are never read."""

    code = "MOD018"
    requires = needs_steps_if_recorded(
        "borrowed_calls", "the calls of copies of the model"
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for all copies."""
        if "copies_apart" not in run.steps.columns:
            return
        calls, apart = run.steps["borrowed_calls"], run.steps["copies_apart"]
        at = (np.nan_to_num(calls) > 0) & (np.nan_to_num(apart) > 0)
        if not at.any():
            return
        steps = run.steps.step[at]
        first, last = int(steps[0]), int(steps[-1])
        kind = run.facts.model.get("class", "module")
        count = int(calls[at].sum())
        yield self.warning(
            f"{at_steps(first, last)}: a copy of the model (or of a part of it) has "
            f"different weights, but {counted(count, 'call')} of it ran the model's "
            "own",
            cause="forward was set on the instance (model.forward = ...), and "
            "copy.deepcopy does not copy functions: it is still bound to the original "
            "model.",
            fix="Copy first and wrap forward afterwards, or use model.compile(); "
            'vars(copied).pop("forward") repairs a copy.',
            places={
                "call": ["copy.deepcopy", "model.forward"],
                "object": f"another {kind}",
            },
            steps=(first, last),
            reason="forward-of-the-original",
            evidence={"calls": count, "threshold": 0},
            healthy="a copy runs with its own weights",
        )
