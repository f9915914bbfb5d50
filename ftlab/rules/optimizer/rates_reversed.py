"""The rule OPT018, rates-reversed.

## What it does
Finds learning rates that differ between groups in the wrong direction: layer-wise rates
that fall towards the head, and LoRA factors of which the first learns faster than the
second.

## Why is this bad?
Layer-wise decay keeps the general features of the lower blocks and lets the upper ones
and the head follow the task. The other way round the features are lost first, and the
head hardly learns. LoRA+ gives B, which begins at 0, the higher rate; with the higher
one on A the run is slower than plain LoRA, or unstable.

## Evidence
The rates of the groups, at the first step at which all of them are above 0, else those
that they begin with; and where the parameters of each group stand.
- *towards-the-head*: the blocks of one list have at least 4 different rates, one for
  each block or for blocks in a row, and from the first block to the last each rate is
  the same share of the one before, to 1 %. Rates that do not fall by one factor were
  chosen individually, and are not reported.
- *first-factor-faster*: in all pairs of LoRA of which one factor is 0 at the start, and
  whose B is the smaller one at the first measurement, A has at least twice the rate of
  B, and B has one above 0. Swapped factors (A begins at 0), and those that were trained
  before, are not reported.
The first is known before the first step, the second at the first one. Measured:
`create_loraplus_optimizer` gives B `loraplus_lr_ratio` times the rate of A
(peft/optimizers/loraplus.py).
By hand: `[(g["lr"], len(g["params"])) for g in optimizer.param_groups]`.

## What to try
1. `lr * decay ** (blocks - k)` for block k, and the head at the full rate.
2. `create_loraplus_optimizer(model, AdamW, lr=..., loraplus_lr_ratio=16)`.

## Known problems
Surgical fine-tuning trains the lower blocks most, for inputs that have changed more
than the task has. Doing so by a factor per block is reported too.
Lists of fewer than four blocks, and rates per stage of a convolutional network, are not
judged: embeddings and heads beside them are no blocks of a list.

## References
- Hayou et al. 2024, LoRA+ (arXiv:2402.12354)
- facebookresearch/mae#177 (block 0 is the one that is closest to the input)
- Lee et al. 2022, Surgical Fine-Tuning (arXiv:2210.11466)
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.needs import needs_optimizers
from ftlab.rules.reading.saving import first_facts, start
from ftlab.rules.reading.tensors import group_of, text_of
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import number

RATES = 4
"""Different rates of one list of blocks, from which on they are a series."""

SAME = 0.01
"""Relative distance of two factors that are one."""

FASTER = 2.0
"""Rate of A over that of B."""

SHOWN = 4
"""Tensors that are named as places."""


class RatesReversed(Rule):
    """Finds rates per group that are the wrong way round."""

    code = "OPT018"
    requires = needs_optimizers

    def check(self, run: Run) -> Results:
        """Yield one finding per way in which rates are reversed."""
        rates = _rates(run)
        if len(set(rates)) < 2:
            return
        held = [n for n in run.names().values() if 0 <= group_of(n) < len(rates)]
        yield from self._blocks(run, rates, held)
        yield from self._factors(run, rates, held)

    def _blocks(
        self, run: Run, rates: Sequence[float], held: Sequence[NameRecord]
    ) -> Results:
        for blocks, names in _lists(held).items():
            series = _series(rates, names)
            factors = [b / a for a, b in itertools.pairwise(series)]
            falls = len(series) >= RATES and max(factors) < 1 - SAME
            if not falls or max(factors) > (1 + SAME) * min(factors):
                continue
            low = min((names[n][0] for n in names), key=lambda n: rates[group_of(n)])
            yield self._finding(
                run,
                "towards-the-head",
                f"the learning rate falls from the first of {blocks} to the last, by "
                f"{number(factors[0])} each: {number(series[0])} -> "
                f"{number(series[-1])}",
                cause="The exponent of the decay is counted from the embeddings.",
                fix="lr * decay ** (blocks - k) for block k; the head at the full lr.",
                group=group_of(low),
                shown=names[max(names)],
            )

    def _factors(
        self, run: Run, rates: Sequence[float], held: Sequence[NameRecord]
    ) -> Results:
        pairs = [
            (a, b)
            for a, b in _pairs(held)
            if rates[group_of(b)] > 0 and _begins_at_zero(run, text_of(b, "adapter"))
        ]
        ratios = [rates[group_of(a)] / rates[group_of(b)] for a, b in pairs]
        if not pairs or min(ratios) < FASTER or not _first_is_larger(run, pairs):
            return
        first, second = pairs[0]
        fast, slow = rates[group_of(first)], rates[group_of(second)]
        yield self._finding(
            run,
            "first-factor-faster",
            f"the learning rate of lora_A is {number(ratios[0])} times that of lora_B "
            f"({number(fast)}, {number(slow)}): LoRA+ has it the other way around",
            cause="The LoRA+ ratio was applied to A instead of B.",
            fix="Give the group of lora_B the higher rate.",
            group=group_of(second),
            shown=[name for _, name in pairs],
        )

    def _finding(
        self,
        run: Run,
        reason: str,
        message: str,
        *,
        cause: str,
        fix: str,
        group: int,
        shown: Sequence[NameRecord],
    ) -> Finding:
        return self.warning(
            message,
            cause=cause,
            fix=fix,
            places={
                "optimizer": [f"param_groups[{group}]", "lr"],
                "param": [name.name for name in shown[:SHOWN]],
            },
            steps=(-1, max(-1, run.last_step)),
            reason=reason,
            evidence={"threshold": RATES if reason == "towards-the-head" else FASTER},
            healthy="rates that rise towards the head, and from A to B",
        )


def _rates(run: Run) -> list[float]:
    """Return the rate of each group of all optimizers."""
    rows = run.steps["lr"] if run.steps.step.size else np.empty((0, 0))
    alive = rows[(np.nan_to_num(rows) > 0).all(axis=1)] if rows.size else rows
    if len(alive):
        return [float(each) for each in alive[0]]
    facts = first_facts(run).optimizers
    groups = [group for each in facts for group in each.get("groups") or ()]
    return [float(g.get("initial_lr") or g.get("lr") or 0.0) for g in groups]


def _lists(held: Sequence[NameRecord]) -> dict[str, dict[int, list[NameRecord]]]:
    """Sort tensors by the list of blocks that they stand in, and by the block."""
    lists: dict[str, dict[int, list[NameRecord]]] = {}
    for name in held:
        blocks, _, block = name.layer.rpartition(".")
        if blocks and block.isdecimal():
            lists.setdefault(blocks, {}).setdefault(int(block), []).append(name)
    return lists


def _series(rates: Sequence[float], blocks: dict[int, list[NameRecord]]) -> list[float]:
    """Return the rates from block to block; none where a block has more than one."""
    series: list[float] = []
    for block in sorted(blocks):
        found = {rates[group_of(name)] for name in blocks[block]}
        if len(found) > 1 or not min(found) > 0:
            return []
        (rate,) = found
        if not series or not math.isclose(rate, series[-1], rel_tol=1e-6):
            series.append(rate)
    return series


def _pairs(held: Sequence[NameRecord]) -> list[tuple[NameRecord, NameRecord]]:
    """Return the factors that learn, A before B, of each pair."""
    parts = {
        (text_of(n, "module"), text_of(n, "adapter"), text_of(n, "role")): n
        for n in held
    }
    return [
        (name, parts[module, adapter, "lora_B"])
        for (module, adapter, role), name in parts.items()
        if role == "lora_A" and (module, adapter, "lora_B") in parts
    ]


def _begins_at_zero(run: Run, adapter: str) -> bool:
    """Tell whether one factor of each pair of an adapter was 0 before the run."""
    begun = (start(run).get("adapters") or {}).get(adapter) or {}
    return bool(begun.get("pairs")) and begun.get("zero_b") == begun["pairs"]


def _first_is_larger(run: Run, pairs: Sequence[tuple[NameRecord, NameRecord]]) -> bool:
    """Tell whether A has the larger norm at its first measurement: B began at 0."""
    if "weight_l2" not in run.columns():
        return False
    matrix = run.matrix("weight_l2").measured()
    if not len(matrix.steps):
        return False
    norms = dict(zip(matrix.ids.tolist(), matrix.values[0].tolist(), strict=True))
    return all(norms.get(a.id, 0.0) > norms.get(b.id, 0.0) for a, b in pairs)
