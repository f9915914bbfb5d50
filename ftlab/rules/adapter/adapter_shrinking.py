"""The rule ADP002, adapter-shrinking.

## What it does
Finds LoRA pairs that weight decay shrinks faster than the gradient can build them up.

## Why is this bad?
Decay pulls an adapter towards 0, which is the base model: what was learned fades, and
the loss climbs back. In full fine-tuning the same decay is spread over large weights;
in an adapter, whose whole norm is what it learned, it acts on all of it.

## Evidence
`a_l2` of each pair over the window (A starts at its full size, so a loss of norm is
plain there; B starts at 0) against what decay alone would do: the factor
exp(-sum of lr x weight_decay) over the effective steps. Decoupled decay only (AdamW,
SGD, Lion, Adafactor); Adam's L2 penalty is rescaled by the moments and is not judged.
- A lost at least 20 % of its norm within the window (256 steps at most), and
- decay explains at least half of it, on a log scale.
Measured on a small Llama, 48 steps at lr 1e-3: weight decay 100 (instead of 0.01) took
A to 9 % of its size, all of it decay; with 0.01 it grew by 13 to 25 %. By arithmetic
the usual recipes (lr up to 1e-3, decay up to 0.1) lose at most 2.5 % in 256 steps.

## What to try
1. `weight_decay=0.0` for adapter parameters; the Trainer's default is 0 as well.
2. Check the exponent: 1e-2 may have been intended instead of 1e2.
3. With parameter groups, check that LoRA is not in the group with decay.

## Known problems
A strong decay that is intended as regularisation looks the same.

## References
- Loshchilov and Hutter 2019, Decoupled weight decay regularization
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ftlab.rules.reading.lora import needs_pairs
from ftlab.rules.reading.tensors import group_of, records_of
from ftlab.rules.reading.updates import Effective, effective
from ftlab.rules.rule import Results, Rule, Run, needs_facts
from ftlab.rules.words import at_steps, counted, in_words, number

SHRUNK = 0.8
"""Share of its norm that A kept, at or below which it counts as shrinking."""

SHARE = 0.5
"""Share of the shrinking that decay must explain."""

POINTS = 3
"""Measurements that a trend takes."""

DECOUPLED = ("adamw", "sgd", "lion", "adafactor")
"""Parts of the names of optimizers whose decay multiplies the weight by 1 - lr x wd."""


class AdapterShrinking(Rule):
    """Finds adapters that weight decay eats."""

    code = "ADP002"
    status = "stable"
    requires = (
        needs_pairs("a_l2", "the norms of LoRA's A and B"),
        needs_facts(
            "optimizers",
            "the weight decay of each parameter group",
            "pass the optimizer: ftlab.watch(model, optimizer)",
        ),
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for all pairs that shrink."""
        matrix = run.matrix("a_l2", "adapters").measured()
        if len(matrix.steps) < POINTS:
            return
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = -np.log(matrix.values[-1] / matrix.values[0]).astype(np.float64)
        decay = _decay_of(
            run, matrix.ids, (int(matrix.steps[0]), int(matrix.steps[-1]))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            share = decay / loss
        eaten = (loss >= -math.log(SHRUNK)) & (share >= SHARE)
        if not eaten.any():
            return
        pairs = [
            p
            for p, e in zip(records_of(run, matrix.ids, "adapters"), eaten, strict=True)
            if e
        ]
        first, last = int(matrix.steps[0]), int(matrix.steps[-1])
        kept = float(np.exp(-loss[eaten].min()))
        names = [_a_name(run, pair.meta, pair.name) for pair in pairs]
        explained = min(float(np.median(share[eaten])), 1.0)
        yield self.warning(
            f"{at_steps(first, last)}: lora_A of {counted(len(pairs), 'LoRA pair')} "
            f"shrank to {number(100 * kept)} % or less; weight decay explains "
            f"{number(100 * explained)} % of it: {in_words(names)}",
            cause=_cause(run, matrix.ids[eaten]),
            fix="Use weight_decay=0.0 (or 0.01) for the adapter's parameter group.",
            places={"param": names},
            steps=(first, last),
            evidence={
                "kept": kept,
                "threshold": SHRUNK,
                "share_of_decay": explained,
                "pairs": len(pairs),
            },
            healthy="lora_A keeps its norm within a few percent",
        )


def _decay_of(
    run: Run, ids: NDArray[np.int32], steps: tuple[int, int]
) -> NDArray[np.float64]:
    """Return the sum of lr x weight decay that each pair's A went through."""
    names = run.names()
    moved = effective(run)
    decays = _decays(run)
    totals = {group: _total(moved, group, wd, steps) for group, wd in decays.items()}
    groups = [group_of(names[row]) if row in names else -1 for row in _a_rows(run, ids)]
    return np.array([totals.get(group, 0.0) for group in groups])


def _a_rows(run: Run, ids: NDArray[np.int32]) -> list[int]:
    """Return the ids of the pairs' A in the table of tensors."""
    pairs = records_of(run, ids, "adapters")
    return [int(pair.meta.get("a", -1)) for pair in pairs]


def _decays(run: Run) -> dict[int, float]:
    """Return the decoupled weight decay of each group, counted over all optimizers."""
    found: dict[int, float] = {}
    offset = 0
    for optimizer in run.facts.optimizers:
        kind = str(optimizer.get("class", "")).lower()
        decoupled = any(part in kind for part in DECOUPLED)
        groups = optimizer.get("groups", ())
        for index, group in enumerate(groups):
            decay = float(group.get("weight_decay") or 0.0)
            found[offset + index] = decay if decoupled else 0.0
        offset += len(groups)
    return found


def _total(moved: Effective, group: int, decay: float, steps: tuple[int, int]) -> float:
    inside = moved.of(group) & (moved.step >= steps[0]) & (moved.step < steps[1])
    if not inside.any():
        return 0.0
    factors = 1 - np.minimum(moved.lr[inside, group] * decay, 1 - 1e-12)
    return float(-np.log(factors).sum())


def _a_name(run: Run, meta: Mapping[str, object], otherwise: str) -> str:
    record = run.names().get(int(str(meta.get("a", -1))))
    return record.name if record else otherwise


def _cause(run: Run, ids: NDArray[np.int32]) -> str:
    names, decays = run.names(), _decays(run)
    rows = _a_rows(run, ids)
    group = next((group_of(names[row]) for row in rows if row in names), -1)
    lr = run.steps["lr"]
    rate = float(np.nanmax(lr[:, group])) if 0 <= group < lr.shape[1] else math.nan
    decay = decays.get(group, 0.0)
    return (
        f"Group {group} has weight decay {number(decay)} at a learning rate of "
        f"{number(rate)}: each step removes {number(100 * rate * decay)} % of every "
        "weight, more than the gradient restores."
    )
