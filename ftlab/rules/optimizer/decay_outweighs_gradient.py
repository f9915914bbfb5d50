"""The rule OPT022, decay-outweighs-gradient.

## What it does
Finds weights dominated by weight decay: AdamW's decay is a large part of each update,
or Adam's L2 penalty is many times the gradient.

## Why is this bad?
The weights go to 0, whatever the data say: decay pulls at each step in the same
direction, while gradients change theirs, and what was pretrained fades. With
`torch.optim.Adam` a decay of 0.1 is enough: it adds decay x weight to the gradient,
Adam divides by the size of the sum, and where the penalty dominates it, each weight
moves towards 0 by the full learning rate at each step.

## Evidence
At every measured update from the start of the run, 3 at least:
- decoupled (AdamW, Lion, Adafactor): `decay_share`, the norm of lr x decay x weight
  over that of the update, is at least 0.2;
- penalty (Adam, NAdam, RAdam of torch), from step 4 on: decay x `weight_l2` is at least
  10 times `grad_l2`, after clipping.
Half of all elements of trained matrices must be in such tensors. Vectors (norms,
biases) and lora_B are not counted; LoRA under decoupled decay is judged by ADP002.
Where decay and gradient are in balance, the share is sqrt(lr x decay / 2): 0.7 % at a
rate of 1e-3 and a decay of 0.1. Measured on a small Llama (weights of 0.02) in full
fine-tuning with AdamW, 40 steps, median share: 0.3 to 0.8 % at decay 0.1, 3 to 4 % at
1, 27 to 40 % at 10, 94 to 101 % at 100. Penalty over gradient with Adam, median: 1.3
at decay 0.1 in full fine-tuning; of lora_A 560 to 1,400 at 0.1, 140 falling to 9 at
0.01, 14 falling to 0.6 at 0.001, below 0.14 at 1e-5.
By hand: `(lr * wd * p.norm(), (p - before).norm())`, or for an L2 penalty
`(wd * p.norm(), p.grad.norm())`.

## What to try
1. Check the exponent: 1e-2 may have been intended instead of 1e2.
2. `torch.optim.AdamW` instead of `Adam`: its decay is not part of the gradient.
3. `weight_decay=0.0` for adapters, norms and biases.

## Known problems
SGD's decay is not judged: at rest it balances the gradient by design. A decay that is
meant to prune weights looks the same.

## Known myths
"A weight decay of 0.1 destroys a pretrained model." At fine-tuning rates it is less
than 1 % of the update (above).

## References
- Loshchilov and Hutter 2019, Decoupled weight decay regularization (arXiv:1711.05101)
- pytorch/pytorch#48793, #38767 (Adam's weight_decay is a penalty in the gradient)
"""

from typing import ClassVar

import numpy as np

from ftlab.rules.reading.early import Bools, Early, Floats, from_the_start
from ftlab.rules.reading.groups import Group, group_at, groups_of
from ftlab.rules.reading.tensors import elements, group_of, text_of
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_column
from ftlab.rules.words import at_steps, counted, in_words, number

SHARE = 0.2
"""Share of the decay in the update."""

PENALTY = 10.0
"""L2 penalty over gradient: at rest both are equal."""

AWAKE = 3
"""Step after which the gradient of lora_A has grown with lora_B."""

MOST = 0.5
"""Share of the elements of trained matrices."""

_FACTORS = ("lora_A", "lora_B")


class DecayOutweighsGradient(Rule):
    """Finds weights that decay moves more than the gradient does."""

    code = "OPT022"
    status = "stable"
    caused_by = ("GRD003",)
    requires = needs_column(
        "decay_share",
        "the share of weight decay in the updates",
        "ftlab.watch(model, optimizer) with the standard probes",
    )
    kinds: ClassVar[tuple[str, ...]] = ("decoupled", "penalty")

    def applies(self, run: Run) -> bool:
        """Tell whether any group has a weight decay, or nothing is known of it."""
        groups = groups_of(run)
        return not groups or any(group.decay > 0 for group in groups)

    def check(self, run: Run) -> Results:
        """Yield one finding for each of the two kinds of decay."""
        groups = groups_of(run)
        for kind in self.kinds:
            early = _columns(run, kind)
            if early is None:
                continue
            own = [group_at(groups, group_of(name)) for name in early.names]
            share, least = _share(run, early, own, kind), _least(kind)
            judged = _judged(early, own, kind)
            mask = judged & early.always(share >= least)
            sizes = elements(early.names)
            if mask.any() and sizes[mask].sum() >= MOST * sizes[_counted(early)].sum():
                yield self._finding(early, share[:, mask], mask, own, kind)

    def _finding(
        self,
        early: Early,
        share: Floats,
        mask: Bools,
        own: list[Group | None],
        kind: str,
    ) -> Finding:
        found = [name for name, bad in zip(early.names, mask, strict=True) if bad]
        group = next(g for g, bad in zip(own, mask, strict=True) if bad)
        assert group is not None
        typical = float(np.nanmedian(share))
        steps = int(early.steps[0]), int(early.steps[-1])
        penalty = kind == "penalty"
        measured = (
            f"the L2 penalty is {number(typical)} times the gradient"
            if penalty
            else f"{number(100 * typical)} % of the update is weight decay"
        )
        return self.warning(
            f"{at_steps(*steps)}: {measured} in {counted(len(found), 'tensor')}: "
            f"{in_words(name.name for name in found)}",
            cause=f"{group.kind} has a weight decay of {number(group.decay)}"
            + (
                ", which it adds to the gradient: after normalization it moves each "
                "weight towards 0 by the full learning rate."
                if penalty
                else ": each update shrinks every weight towards 0."
            ),
            fix="torch.optim.AdamW instead of Adam, or weight_decay=0.0."
            if penalty
            else "A weight decay of 0.01 to 0.1: check the exponent.",
            places={
                "optimizer": "weight_decay",
                "param": [name.name for name in found],
            },
            steps=steps,
            reason=kind,
            evidence={
                "share": typical,
                "threshold": _least(kind),
                "weight_decay": group.decay,
            },
            healthy="decay is below 5 % of the update, or below the gradient with Adam",
        )


def _columns(run: Run, kind: str) -> Early | None:
    if kind == "decoupled":
        return from_the_start(run, "decay_share")
    return from_the_start(run, "weight_l2", "grad_l2", after=AWAKE)


def _least(kind: str) -> float:
    return SHARE if kind == "decoupled" else PENALTY


def _share(run: Run, early: Early, own: list[Group | None], kind: str) -> Floats:
    if kind == "decoupled":
        return early["decay_share"]
    decays = np.array([0.0 if group is None else group.decay for group in own])
    clipped = run.steps["clip_coefficient"]
    lines = np.searchsorted(run.steps.step, early.steps)
    left = np.nan_to_num(clipped[lines], nan=1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(decays * early["weight_l2"] / (early["grad_l2"] * left))


def _counted(early: Early) -> Bools:
    """Mark trained matrices, but the factors of LoRA that begin at 0."""
    return np.array(
        [len(n.shape) > 1 and text_of(n, "role") != "lora_B" for n in early.names], bool
    )


def _judged(early: Early, own: list[Group | None], kind: str) -> Bools:
    """Mark matrices whose optimizer decays in this way."""
    marks = []
    for name, group in zip(early.names, own, strict=True):
        fits = group is not None and group.decay > 0 and len(name.shape) > 1
        if group is None or not fits:
            marks.append(False)
        elif kind == "penalty":
            marks.append(group.is_penalty)
        else:
            factor = text_of(name, "role") in _FACTORS
            marks.append(group.is_decoupled and not factor)
    return np.array(marks, bool)
