"""The rule NUM007, epsilon-vanishes.

## What it does
Finds float16 weights whose optimizer divides by its second moment plus an eps too small
for float16.

## Why is this bad?
The smallest number of float16 is 6e-8; Adam's eps of 1e-8 is rounded to 0. So is the
square of every gradient below 0.0077 (times 1 - beta2). Such an element is divided by
0: infinite, or NaN where its gradient is 0, as in the rows of tokens that were not in
the batch. The loss is NaN one step later, and the gradients of this step were fine.

## Evidence
The dtype of each trained tensor, and class, `eps` and `fused` of its optimizer: those
of torch.optim that divide by a root plus eps, with an eps of at most 3e-8 (half of the
smallest number). A warning; an error where `update_l2` was measured and is not finite
while the tensor's gradient was. A fused optimizer computes in float32. Measured on a
small Llama in float16: with AdamW and eps 1e-8 all tensors were NaN or infinite after
step 0; with eps 1e-4 the loss fell over 200 steps. Adapters in float16 are ADP019's.
By hand: `torch.tensor(eps, dtype=torch.float16)`, and `p.isfinite().all()` after the
first step.

## What to try
1. Keep the weights in float32 and compute in fp16 under autocast, with a GradScaler.
2. bf16, whose smallest numbers are those of float32.
3. `eps=1e-4`: Adam is then nearly SGD for small gradients.

## Known problems
Optimizers of other libraries may divide in float32: they are not judged.

## References
- torch.optim, `_single_tensor_adam`: the root and eps are added in the state's dtype
- matanbt/TROPT#8, afiaka87/glide-finetune#5, keras-team/keras#11860
"""

from collections.abc import Sequence

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import group_of, params, records_of, text_of
from ftlab.rules.reasons.lost_updates import VANISHES
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity, needs_facts
from ftlab.rules.words import counted, in_words, number

DIVIDING = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad")
"""Optimizers of torch that add eps to a root."""


class EpsilonVanishes(Rule):
    """Finds optimizers whose eps is 0 in the dtype of their weights."""

    code = "NUM007"
    requires = needs_facts(
        "optimizers", "what optimizers hold", "ftlab.watch(model, opt)"
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for all such weights."""
        small = _vanishing(run)
        affected = [
            name
            for name in run.names("tensors").values()
            if name.dtype.rpartition(".")[2] == "float16"
            and group_of(name) in small
            and not text_of(name, "adapter")
        ]
        if affected:
            kind, eps = small[group_of(affected[0])]
            step, spoiled = _spoiled(run, {name.id for name in affected})
            yield self._finding(affected, (kind, eps), step, spoiled)

    def _finding(
        self,
        affected: Sequence[NameRecord],
        optimizer: tuple[str, float],
        step: int,
        spoiled: Sequence[NameRecord],
    ) -> Finding:
        kind, eps = optimizer
        done = (
            f"; step {step} made {counted(len(spoiled), 'tensor')} of them non-finite, "
            f"from finite gradients: {in_words(name.name for name in spoiled)}"
        )
        places = [Place("optimizer", "eps")]
        if spoiled:
            places += [Place("step", str(step)), *params(spoiled)]
            places += [Place("object", "loss")]
        else:
            places += params(affected)
        return self.finding(
            Severity.ERROR if spoiled else Severity.WARNING,
            f"{counted(len(affected), 'tensor')} in float16, and {kind} has eps "
            f"{number(eps)}, which is 0 in float16{done if spoiled else ''}",
            cause=f"{kind} divides by the root of its second moment plus eps, in the "
            "dtype of the weights: where squared gradients underflow too, by 0.",
            fix="Keep the weights in float32 under autocast with a GradScaler, or "
            "train in bf16; in pure float16 at least eps=1e-4.",
            places=places,
            steps=(step, step),
            evidence={
                "eps": eps,
                "threshold": VANISHES,
                "tensors": len(affected),
                "non_finite_tensors": len(spoiled),
            },
            healthy="an eps of 1e-6 or more in float16, or weights in float32",
        )


def _vanishing(run: Run) -> dict[int, tuple[str, float]]:
    """Return class and eps of each group, over all optimizers, whose eps is 0."""
    found: dict[int, tuple[str, float]] = {}
    index = 0
    for optimizer in run.facts.optimizers:
        kind = str(optimizer.get("class", ""))
        own = str(optimizer.get("module", "")).startswith("torch.optim")
        judged = own and kind in DIVIDING and not optimizer.get("fused")
        for group in optimizer.get("groups", ()):
            eps = group.get("eps")
            if judged and isinstance(eps, float) and eps <= VANISHES:
                found[index] = kind, eps
            index += 1
    return found


def _spoiled(run: Run, ids: set[int]) -> tuple[int, list[NameRecord]]:
    """Return the first update that was not finite although its gradients were."""
    if not {"update_l2", "grad_l2"} <= set(run.columns()):
        return -1, []
    updates, gradients = run.matrix("update_l2"), run.matrix("grad_l2")
    mine = np.isin(updates.ids, list(ids))
    for line, step in enumerate(updates.steps.tolist()):
        bad = mine & updates.known[line] & ~np.isfinite(updates.values[line])
        if not bad.any():
            continue
        row = np.flatnonzero(gradients.steps == step)
        fine = gradients.ids[np.isfinite(gradients.values[row]).any(axis=0)]
        bad &= np.isin(updates.ids, fine)
        return (step, records_of(run, updates.ids[bad])) if bad.any() else (-1, [])
    return -1, []
