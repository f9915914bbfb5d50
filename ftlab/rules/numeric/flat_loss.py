"""The rule NUM003, flat-loss.

## What it does
Finds runs whose loss cannot fall, because no update has changed what the model
computes. It is the last symptom of a chain: where another rule finds the cause, it is
shown above this one.

## Why is this bad?
The optimizer steps, the learning rate follows its schedule, the loss moves up and down
with the batches, and nothing is learned: the run is paid for and wasted.

## Evidence
The loss itself is not judged: a flat curve may be a small learning rate, a hard task or
a run at its end. What is judged is whether anything moved, over 8 *effective* steps at
least (learning rate above 0, not skipped by the scaler). Every single trainable tensor
must be without effect at every step that was measured in the window, and the last such
look must not lie before half of the effective steps:
- `update_l2` is exactly 0, and the sample behind it can be trusted: the tensor is in no
  optimizer group, has no gradient or one that is exactly 0, or all sampled elements
  with a gradient kept their value (`stuck_share` is 1; where the rows of an embedding
  that a batch used lie between the sampled ones, it is not known); or
- it is half of a LoRA pair whose other half is exactly 0 (`a_l2`, `b_l2`), so that B A
  is 0 whatever the tensor does.
Measured over the gallery's healthy runs (LoRA, DoRA, full, experts, bf16, closures,
accelerate, compiled): a fifth to all of the tensors moved in the first effective step
(with LoRA half: every lora_B), and in later ones all but those of experts without
tokens. Weights that move between steps, as copies of master weights do, count as
moving, and so do tensors that others replace while the model runs
(`torch.func.functional_call`). A loss of exactly 0 is not reported: everything has been
learned.

## What to try
1. Fix what is shown above it.
2. If nothing is: by hand, `before = [p.clone() for p in model.parameters()]`, one step,
   and `[torch.equal(a, b) for a, b in zip(before, model.parameters())]`.
3. An optimizer of your own must write in place (`p.sub_(...)`, `p.data = ...`): `p = p
   - lr * p.grad` only rebinds a local name.

## Known problems
A flat loss of a model that does change (labels that carry no signal, a learning rate
far too small) is not found here.

## References
- huggingface/accelerate#2665 (updates that reach no parameter; TrainCheck AC-2665)
- discuss.pytorch.org/t/84911 (TrainCheck PT-FORUM-84911)
"""

import numpy as np
from numpy.typing import NDArray

from ftlab.rules.reading.masters import mastered, moving
from ftlab.rules.reading.needs import needs_rates
from ftlab.rules.reading.outside import held_outside
from ftlab.rules.reading.tensors import group_of, records_of
from ftlab.rules.reading.updates import effective
from ftlab.rules.rule import ANY, Finding, Place, Results, Rule, Run, needs_column
from ftlab.rules.words import at_steps, counted, number
from ftlab.runlog.matrix import Matrix

MIN_EFFECTIVE = 8
"""Effective steps in which nothing may have moved."""

MIN_MEASURED = 3
"""Of them, steps at which updates must have been measured."""

Bools = NDArray[np.bool_]


class FlatLoss(Rule):
    """Finds runs in which nothing that is trained has any effect."""

    code = "NUM003"
    status = "stable"
    requires = (
        needs_column("update_l2", "how far each update moved each tensor"),
        needs_rates,
    )
    caused_by = ("ADP001", "GRD003", "OPT002", "OPT001", "OPT005", "NUM002", ANY)

    def check(self, run: Run) -> Results:
        """Yield a finding when no tensor had any effect."""
        steps = run.steps.step[effective(run).mask.any(axis=1)]
        if not bool((run.steps["loss"] != 0).any()):
            return
        update = run.matrix("update_l2")
        looked = int((steps <= _last_looked(run, update)).sum())
        known = update.known & np.isin(update.steps, steps)[:, None]
        if len(steps) < MIN_EFFECTIVE or 2 * looked < len(steps):
            return  # most of them came after the last look
        if known.any(axis=1).sum() < MIN_MEASURED:
            return
        still = known.any(axis=0) & ~(known & (update.values != 0)).any(axis=0)
        elsewhere = mastered(run) | moving(run) | held_outside(run)
        names = records_of(run, update.ids)
        still &= [name.name not in elsewhere for name in names]
        idle = (still & _proven(run, update)) | _in_zero_pair(run, update)
        idle &= [name.name not in held_outside(run) for name in names]
        if idle.all():
            yield self._finding(run, steps, update, still)

    def _finding(
        self, run: Run, steps: NDArray[np.int64], update: Matrix, still: Bools
    ) -> Finding:
        first, last = int(steps[0]), int(steps[-1])
        loss = run.steps["loss"]
        early, late = np.nanmedian(loss[:MIN_EFFECTIVE]), np.nanmedian(loss[-8:])
        pushed = still & _pushed(run, update)
        held = [group_of(name) >= 0 for name in records_of(run, update.ids)]
        alone = bool(pushed.all()) and all(held)
        kind = _optimizer(run)
        return self.error(
            f"{at_steps(first, last)}: {counted(len(steps), 'effective step')} changed "
            f"nothing that the model computes, in {counted(len(still), 'tensor')}; "
            f"median loss {number(float(early))}, then {number(float(late))}",
            cause=f"{kind}.step changes no parameter, though each has a gradient."
            if alone
            else "No trained parameter affects the model's output.",
            fix="Let the optimizer write in place: p.sub_(...) under torch.no_grad()."
            if alone
            else "Fix what is named above; see the page for a check by hand.",
            places=[Place("call", "optimizer.step"), Place("object", "loss")]
            if alone
            else [Place("object", "loss")],
            steps=(first, last),
            evidence={
                **({"reason": "step-without-effect"} if alone else {}),
                "effective_steps": len(steps),
                "threshold": MIN_EFFECTIVE,
                "tensors": len(still),
                "loss_before": float(early),
                "loss_after": float(late),
            },
            healthy="every lora_B moves at the first step, all tensors from the third "
            "on",
        )


def _last_looked(run: Run, update: Matrix) -> int:
    """Return the last step of which it is known what moved, and what the pairs hold."""
    looked = [update]
    if "b_l2" in run.columns("adapters"):
        looked.append(run.matrix("b_l2", "adapters"))
    lines = (each.steps[each.known.any(axis=1)] for each in looked)
    return min(int(steps.max(initial=-1)) for steps in lines)


def _proven(run: Run, update: Matrix) -> Bools:
    """Mark tensors of which a sample that did not move proves that nothing did."""
    stuck = run.matrix("stuck_share")
    seen = (stuck.known & (stuck.values == 1)).any(axis=0).tolist()
    shares = dict(zip(stuck.ids.tolist(), seen, strict=True))
    free = np.array([group_of(name) < 0 for name in records_of(run, update.ids)], bool)
    held = np.array([shares.get(row, False) for row in update.ids.tolist()], bool)
    return np.asarray(free | held | ~_pushed(run, update), bool)


def _pushed(run: Run, update: Matrix) -> Bools:
    """Mark tensors with a gradient that was not exactly 0 at some step."""
    l2 = run.matrix("grad_l2")
    moved = (l2.known & (l2.values != 0)).any(axis=0)
    by_id = dict(zip(l2.ids.tolist(), moved.tolist(), strict=True))
    return np.array([by_id.get(row, False) for row in update.ids.tolist()], bool)


def _in_zero_pair(run: Run, update: Matrix) -> Bools:
    """Mark the tensors of LoRA pairs whose product was 0 whenever it was measured."""
    idle: set[int] = set()
    if {"a_l2", "b_l2"} <= set(run.columns("adapters")):
        names = run.names("adapters")
        for column in ("a_l2", "b_l2"):
            matrix = run.matrix(column, "adapters")
            nonzero = (matrix.known & (matrix.values != 0)).any(axis=0)
            zero = matrix.known.any(axis=0) & ~nonzero
            for row in matrix.ids[zero].tolist():
                meta = names[row].meta if row in names else {}
                idle |= {int(meta.get(half, -1)) for half in ("a", "b")}
    return np.isin(update.ids, sorted(idle - {-1}))


def _optimizer(run: Run) -> str:
    optimizers = run.facts.optimizers
    return str(optimizers[0].get("class", "optimizer")) if optimizers else "optimizer"
