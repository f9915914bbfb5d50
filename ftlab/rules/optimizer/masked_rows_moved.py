"""The rule OPT020, masked-rows-moved.

## What it does
Finds rows of an embedding whose gradient is masked to keep them fixed, but that the
optimizer moves nevertheless.

## Why is this bad?
New tokens are trained by zeroing the gradient of all other rows, in a hook or after
backward. AdamW does not need a gradient: it subtracts lr x weight decay of each weight
that it holds, so that the whole vocabulary shrinks at every step while a few rows
learn. Momentum from before the mask keeps moving rows as well. The loss does not show
it.

## Evidence
On the steps on which slow measurements are due, up to 512 positions of the first
micro-batch: different tokens that are followed by a label, attended to and not padding.
Each of them gets a gradient unless it is masked.
- more than half of the rows have a gradient of exactly 0 before the update, and
- more than half of these have changed after it, at 2 such steps, and
- the embedding as a whole had a gradient above 0 at some step.
The reason is `weight-decay` where the group has one, `momentum` where it has none.
Measured on a small Llama whose 128 old rows are masked by a hook: of the rows that
batches look up, 97 % are masked; with AdamW's default weight decay of 0.01 all of them
move at each step, with 0.0 none. In full fine-tuning without a mask none of the rows
looked up is without a gradient.
By hand: `w = model.get_input_embeddings().weight; old = w.detach().clone()`, a step,
then `(w != old).any(1).sum()`: more rows than you train.

## What to try
1. `weight_decay=0.0` for the embedding's parameter group.
2. `LoraConfig(trainable_token_indices={"embed_tokens": new_ids})`: nothing else is
   trained, and nothing is masked.
3. Restore the rows after each step: `w.data[:old_size] = old[:old_size]`.

## Known problems
Rows of an embedding that the model does not name as its own, and of a sharded one, are
not checked. Nor are the masked rows of an untied head, which decay moves likewise.

## References
- huggingface/diffusers#1009, #1176 (decay moves the words that textual inversion masks)
- pytorch/pytorch#18404 (Adam's momentum moves rows without a gradient)
"""

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.groups import Group, group_at, groups_of
from ftlab.rules.reading.tensors import group_of
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_if_recorded
from ftlab.rules.words import at_steps, number

TABLE = "masked_rows"

MOST = 0.5
"""Share of the rows that are masked, and of the masked ones that move."""

LOOKS = 2
"""Steps at which it must be so."""


class MaskedRowsMoved(Rule):
    """Finds masked rows that weight decay or momentum moves."""

    code = "OPT020"
    status = "stable"
    requires = needs_if_recorded(
        "masked",
        "rows of the embedding before and after an update",
        "ftlab.watch(...) with its standard probes, for two steps",
        TABLE,
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for each embedding."""
        rows = run.matrix("rows", TABLE)
        masked = run.matrix("masked", TABLE).values
        moved = run.matrix("moved", TABLE).values
        bad = (masked > MOST * rows.values) & (moved > MOST * masked)
        for column, row in enumerate(rows.ids.tolist()):
            steps = rows.steps[bad[:, column]].tolist()
            tensor = _tensor(run, run.names(TABLE)[row].name)
            if len(steps) < LOOKS or tensor is None or not _learns(run, tensor):
                continue
            counts = moved[:, column], rows.values[:, column]
            share = float(np.nansum(counts[0]) / np.nansum(counts[1]))
            group = group_at(groups_of(run), group_of(tensor))
            yield self._finding(tensor, group, (steps[0], steps[-1]), share)

    def _finding(
        self,
        tensor: NameRecord,
        group: Group | None,
        steps: tuple[int, int],
        share: float,
    ) -> Finding:
        decay = 0.0 if group is None else group.decay
        return self.warning(
            f"{at_steps(*steps)}: {number(100 * share)} % of the rows of {tensor.name} "
            "that the batches look up have a gradient of exactly 0, but are changed",
            cause="Their gradient is masked, but the optimizer holds the whole tensor "
            f"with a weight decay of {number(decay)}: it shrinks every row at each "
            "step, gradient or not."
            if decay
            else "Their gradient is masked, but the momentum of earlier gradients "
            "keeps moving them.",
            fix="weight_decay=0.0 for this parameter's group, or "
            "LoraConfig(trainable_token_indices=...) instead of the mask."
            if decay
            else "Apply the mask before the first step, or restore the rows after each "
            "step.",
            places={
                "param": tensor.name,
                "optimizer": "weight_decay" if decay else "exp_avg",
            },
            steps=steps,
            reason="weight-decay" if decay else "momentum",
            evidence={"share": share, "threshold": MOST, "weight_decay": decay},
            healthy="a row whose gradient is masked keeps its value",
        )


def _tensor(run: Run, name: str) -> NameRecord | None:
    return next((each for each in run.names().values() if each.name == name), None)


def _learns(run: Run, tensor: NameRecord) -> bool:
    """Tell whether the tensor as a whole got a gradient at some step."""
    norms = run.matrix("grad_l2")
    return bool((norms.high[:, norms.ids == tensor.id] > 0).any())
