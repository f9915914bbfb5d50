"""The rule GRD001, vanishing-gradient.

## What it does
Finds tensors whose gradient is smaller, by many orders of magnitude, than that of the
same tensor in another layer, several steps in a row. Also finds runs in which all
gradients are too small for Adam while the loss has not fallen.

## Why is this bad?
Layers below the point where the gradient dies learn nothing. Adam does not fix it: it
divides by the gradient's own size only while that is far above its epsilon (1e-8).

## Evidence
The gradient's root mean square per tensor (`grad_l2` over the root of its elements,
accumulated, before clipping). Tensors are compared with their namesakes in other layers
(`layers.#.q_proj`), because kinds of tensors differ by nature.
- 1e-4 of the largest namesake, 5 steps in a row. Measured: the smallest ratio that
  lasted 5 steps was 0.058 over 13 healthy runs of 60 steps (LoRA, DoRA, rsLoRA, full,
  mixture of experts; AdamW and SGD; 2 to 16 layers); seven sigmoid layers without a
  residual path gave 7e-6. A bias, or another vector, counts only where a matrix of the
  same layer is that small at the same steps, for both come from one gradient. By itself
  it is cancelled by what comes next, and rounding noise remains. Measured against
  namesakes that are not cancelled: convolutions before batch norms in one Sequential
  7e-8 to 3e-7, linear layers before batch norms 7e-9, `k_proj.bias` in layers without
  rotary positions beside layers with them (SmolLM3) 4e-7; in bf16 autocast 1e-4. Where
  all namesakes are cancelled (BERT, OPT, Qwen2: `k_proj.bias`) they stay within a
  factor of 20.
- all tensors below 1e-8, which is torch's default epsilon of Adam, 5 steps in a row,
  while the loss is above half of its first value. A run that has memorised its data has
  small gradients too (a global norm of 0.003 at loss 0.002), but its loss has fallen.
The rate is named where the median over the pairs of the norm of scaling x B A over that
of the base weight had grown to 1 or more when the gradients vanished. Measured on a
tiny Qwen2 of 8 layers: 4.2 at step 8 with a rate of 3e-2, 166 with 0.2; at 2e-3 it is
0.2, and nothing vanishes. The size alone proves nothing: with r = 64 and 1e-2 it is 1.6
after three steps, and the loss falls.
Gradients that are exactly 0 are not small, they are absent: see GRD003 and ADP001. So
lora_A, whose gradient is 0 while B is 0, never counts.

## What to try
1. Look at the first layer that still has a healthy gradient: what comes next saturates
   (sigmoid, tanh, a softmax with huge logits) or lacks its residual path.
2. Lower the learning rate if it began after some steps: saturated attention does this.
   Where the gradients exploded before (GRD002), or LoRA had outgrown the weights that
   it is added to, that is given as the cause.
3. In fp16: a GradScaler, or bf16; gradients below 3e-8 are 0 in fp16.
4. Put the residual path back, or initialise so that the variance stays.

## Known problems
Needs two layers with a tensor of the same name; a layer with no counterpart is not
compared, nor are the experts of a mixture, whose gradients depend on their share of the
tokens. Where no matrix is trained (BitFit, IA3), vectors that vanish cannot be told
from cancelled ones and are not reported.
The marks of the heatmap (1e-6, decay 0.7) are not thresholds: healthy runs cross them.

## References
- Hochreiter et al. 2001, Gradient flow in recurrent nets
- torch.optim.Adam, `eps`
"""

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import (
    elements,
    has_twin,
    in_a_row,
    params,
    pattern,
    records_of,
)
from ftlab.rules.reasons.lone_vectors import without_lone_vectors
from ftlab.rules.rule import Place, Results, Rule, Run, needs_column
from ftlab.rules.words import at_steps, counted, in_words, number
from ftlab.runlog.matrix import Matrix

RATIO = 1e-4
"""Share of the largest namesake's gradient below which a gradient has vanished."""

ADAM_EPSILON = 1e-8
"""Below it Adam no longer scales a gradient up; torch's default."""

STREAK = 5
"""Steps in a row; one batch may well say nothing to one layer."""

LOSS_SHARE = 0.5
"""A loss below this share of the first one explains small gradients."""

_FIX = (
    "Check what lies between the last layer with a healthy gradient and these tensors: "
    "a saturated activation or softmax, or a missing residual path."
)

OUTGROWN = 1.0
"""What LoRA adds against the weight that it is added to: it has taken over."""


class VanishingGradient(Rule):
    """Finds gradients that die on their way down."""

    code = "GRD001"
    status = "stable"
    caused_by = ("GRD002", "ADP018")
    requires = needs_column("grad_l2", "the gradient norm of every trainable tensor")

    def check(self, run: Run) -> Results:
        """Yield one finding for layers that lag behind, one for the whole model."""
        matrix = run.matrix("grad_l2")
        if len(matrix.steps) < STREAK:
            return
        names = records_of(run, matrix.ids)
        roots = np.sqrt(elements(names)).astype(np.float32)
        rms = np.asarray(matrix.values / roots, np.float32)
        rms[~((rms > 0) & np.isfinite(rms))] = np.nan
        yield from self._behind(run, matrix, names, rms)
        yield from self._everywhere(run, matrix, names, rms)

    def _behind(
        self,
        run: Run,
        matrix: Matrix,
        names: list[NameRecord],
        rms: NDArray[np.float32],
    ) -> Results:
        ratio = ratio_to_namesakes(rms, names)
        # An expert's gradient is as small as its share of the tokens.
        ratio[:, has_twin(names)] = np.nan
        low = without_lone_vectors(in_a_row(ratio < RATIO, STREAK), names)
        if not low.any():
            return
        found = np.flatnonzero(low.any(axis=0))
        lines = np.flatnonzero(low.any(axis=1))
        begin = max(int(lines[0]) - STREAK + 1, 0)
        first, last = int(matrix.steps[begin]), int(matrix.steps[lines[-1]])
        worst = float(np.nanmin(ratio[lines][:, found]))
        affected = [names[column] for column in found]
        # What began on the way may follow from what all gradients went through.
        later = bool((ratio[:begin, found] >= RATIO).any())
        grown = _outgrown(run.whole, int(matrix.steps[lines[0]]))
        by_rate = f"LoRA adds {number(grown)} times the weights it is added to, and "
        yield self.warning(
            f"{at_steps(first, last)}: {by_rate if grown else ''}the gradient of "
            f"{counted(len(affected), 'tensor')} is down to {number(worst)} of the "
            f"same tensor in another layer: {in_words(n.name for n in affected)}",
            cause="The learning rate is too high: updates larger than the weights have "
            "saturated the layers that use them."
            if grown
            else "The gradient shrinks on its way back to these layers.",
            fix="Restart with a rate of 1e-4 to 3e-4." if grown else _FIX,
            places=[
                *([Place("optimizer", "lr")] if grown else []),
                *params(affected),
                *([Place("object", "gradients")] * later),
            ],
            steps=(first, last),
            evidence={
                "ratio": worst,
                "threshold": RATIO,
                "tensors": len(affected),
                "steps_in_a_row": STREAK,
            },
            healthy="namesakes in other layers stay within a factor of 20",
        )

    def _everywhere(
        self,
        run: Run,
        matrix: Matrix,
        names: list[NameRecord],
        rms: NDArray[np.float32],
    ) -> Results:
        largest = np.nan_to_num(rms).max(axis=1)
        low = (largest > 0) & (largest < ADAM_EPSILON) & _loss_is_high(run, matrix)
        lines = np.flatnonzero(in_a_row(low, STREAK))
        if not len(lines):
            return
        first, last = (
            int(matrix.steps[lines[0] - STREAK + 1]),
            int(matrix.steps[lines[-1]]),
        )
        worst = float(largest[lines].max())
        top = names[int(np.nan_to_num(rms[lines[-1]]).argmax())]
        yield self.warning(
            f"{at_steps(first, last)}: no gradient has a root mean square above "
            f"{number(worst)}, and the loss has not fallen",
            cause="All gradients are below Adam's epsilon, so Adam cannot scale them.",
            fix="Check the loss: is it scaled down, saturated, or almost constant?",
            places={"object": "gradients", "param": top.name},
            steps=(first, last),
            evidence={"rms": worst, "threshold": ADAM_EPSILON},
            healthy="root mean squares of 1e-6 to 1e-2 while the loss is high",
        )


def _outgrown(run: Run, until: int) -> float:
    """Return how much LoRA adds to its weights by a step; 0 where they are larger."""
    if "ratio" not in run.columns("adapters"):
        return 0.0
    measured = run.matrix("ratio", "adapters").measured()
    before = measured.values[measured.steps <= until]
    if not len(before):
        return 0.0
    median, begun = np.nanmedian(before[-1]), np.nanmedian(before[0])
    return float(median) if median >= max(OUTGROWN, 2 * begun) else 0.0


def ratio_to_namesakes(
    rms: NDArray[np.float32], names: list[NameRecord]
) -> NDArray[np.float32]:
    """Divide each column by the largest column of the same pattern, step by step."""
    groups: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        groups.setdefault(pattern(name.name), []).append(column)
    order = np.array([c for columns in groups.values() for c in columns], np.intp)
    starts = np.cumsum([0, *map(len, groups.values())])[:-1]
    largest = np.fmax.reduceat(rms[:, order], starts, axis=1)
    sizes = [len(columns) for columns in groups.values()]
    ratio = np.empty_like(rms)
    ratio[:, order] = rms[:, order] / np.repeat(largest, sizes, axis=1)
    return ratio


def _loss_is_high(run: Run, matrix: Matrix) -> NDArray[np.bool_]:
    loss = run.steps["loss"]
    finite = loss[np.isfinite(loss)]
    if not len(finite):
        return np.zeros(len(matrix.steps), bool)
    high = run.steps.step[loss > LOSS_SHARE * finite[0]]
    return np.isin(matrix.steps, high)
