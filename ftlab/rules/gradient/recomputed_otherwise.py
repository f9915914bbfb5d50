"""The rule GRD004, recomputed-otherwise.

## What it does
Finds modules under gradient checkpointing whose recomputation in backward differs from
the forward pass, and batch norms that update their statistics with each batch twice.

## Why is this bad?
The gradients belong to a pass that never happened: different dropout masks, mode or
precision than the loss was computed with. Training goes on with gradients that are
noisy or plainly wrong. A batch norm that runs again counts the same batch again: its
running statistics, which evaluation uses, forget almost twice as fast.

## Evidence
The L2 norm of each module's output in forward, and of its output when it is recomputed
in backward; the second must equal one of the first. Threshold: 1e-3 relative, to leave
room for kernels that sum in a different order; what those do on a GPU was not measured.
Its dtype must be one that it had in forward (*other-dtype*). Looked at on the steps on
which other slow measurements are due, once a module was seen to run within backward.
Measured on a CPU, over 24 steps: no difference in healthy runs with dropout; at most
0.09 with `preserve_rng_state=False`, 0.27 where the mode differs in backward. A custom
checkpoint that does not re-enter autocast in backward: all linear layers and
activations of four blocks in float32 instead of bfloat16, gradients 0.4 % off.
`torch.utils.checkpoint` restores autocast by itself, in both variants. Of batch norms
their own `num_batches_tracked` is read before and after forward and after backward: any
batch that was counted in forward and again in backward counts (*statistics-twice*).
Measured: with a momentum of 0.1 two updates by one batch weigh it 0.19; batch norms
count 2 batches a step with checkpointing, 1 without.

## What to try
1. Leave `preserve_rng_state` at its default.
2. Do not call `model.eval()`, change the dropout or leave autocast between forward and
   backward.
3. Keep what is random or counts calls out of the checkpointed function, including batch
   norms with running statistics.
4. In a custom `autograd.Function` that recomputes a block, save
   `torch.is_autocast_enabled(kind)` and `torch.get_autocast_dtype(kind)` in forward and
   enter `torch.autocast` with them in backward; or call `torch.utils.checkpoint`.
By hand: run one step with and without checkpointing from the same seed, and compare
`p.grad`.

## Known problems
A module that keeps state of its own (a queue) differs a little on purpose. A momentum
that was lowered on purpose, to make up for the second update, is not recognised.
Differences that leave the norm as it is are not seen.

## Known myths
"Hooks that draw noise run twice under checkpointing": transformers 5.23 checkpoints
`forward`, so that hooks on a block run once; those inside it draw the same numbers
again, for the state of the generators is put back.

## References
- pytorch `torch.utils.checkpoint`, on `preserve_rng_state`
- NVIDIA/Megatron-LM#7538, NVIDIA/TransformerEngine#787, pytorch/pytorch#37730
  (autocast that is not restored)
- openai/guided-diffusion#167, allenai/OLMo-core#828 (dropout drawn again)
- fairscale `checkpoint_wrapper` (`patch_batchnorm`)
"""

import numpy as np

from ftlab.rules.reading.recomputing import LOOKED_INTO
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Results, Rule, Run
from ftlab.rules.words import at_steps, counted, in_words, number

THRESHOLD = 1e-3


class RecomputedOtherwise(Rule):
    """Finds checkpointed modules whose second pass is not their first."""

    code = "GRD004"
    caused_by = ("EXP008",)
    status = "stable"
    requires = LOOKED_INTO

    def check(self, run: Run) -> Results:
        """Yield findings for dtypes, values and statistics."""
        dtypes = list(self._dtypes(run))
        yield from dtypes or self._outputs(run)
        yield from self._statistics(run)

    def _statistics(self, run: Run) -> Results:
        """Yield one finding for batch norms that gather in both passes."""
        if "gathered_again" not in run.columns("statistics"):
            return
        again = run.matrix("gathered_again", "statistics")
        first = run.matrix("gathered", "statistics").values
        twice = again.known & (again.values > 0) & (first > 0)
        if not twice.any():
            return
        records = records_of(run, again.ids[twice.any(axis=0)], "statistics")
        names = [record.name for record in records]
        rows = again.steps[twice.any(axis=1)]
        steps = int(rows[0]), int(rows[-1])
        yield self.warning(
            f"{at_steps(*steps)}: {counted(len(names), 'batch norm')} updated the "
            f"running statistics twice with each batch: {in_words(names)}",
            cause="Gradient checkpointing recomputes the block in backward, and a "
            "batch norm in it counts the batch again.",
            fix="Keep batch norms out of the checkpointed blocks, or use a norm "
            "without running statistics there.",
            places={"module": names, "call": "checkpoint"},
            steps=steps,
            reason="statistics-twice",
            evidence={"modules": len(names), "threshold": 0},
            healthy="one update of the statistics per batch",
        )

    def _dtypes(self, run: Run) -> Results:
        """Yield one finding for outputs in another dtype."""
        if "other_dtype" not in run.columns("recomputed"):
            return
        matrix = run.matrix("other_dtype", "recomputed")
        other = matrix.known & (matrix.values > 0)
        if not other.any():
            return
        records = records_of(run, matrix.ids[other.any(axis=0)], "recomputed")
        names = _innermost([record.name for record in records])
        first = next(record for record in records if record.name == names[0])
        was, again = text_of(first, "dtype"), text_of(first, "again")
        rows = matrix.steps[other.any(axis=1)]
        steps = int(rows[0]), int(rows[-1])
        yield self.warning(
            f"{at_steps(*steps)}: {counted(len(names), 'module')} gave {again} when "
            f"recomputed in backward, but {was} in forward: {in_words(names)}",
            cause="The code that recomputes the block does not re-enter autocast: "
            "backward runs outside of it. Gradients, time and memory are those of a "
            "different precision.",
            fix="Use torch.utils.checkpoint, which restores autocast, or save its "
            "state in forward and enter it in backward.",
            places={"call": "torch.autocast", "module": names},
            steps=steps,
            reason="other-dtype",
            evidence={"modules": len(names)},
            healthy="the same dtype in forward and in backward",
        )

    def _outputs(self, run: Run) -> Results:
        """Yield one finding, the lowest module first."""
        if "difference" not in run.columns("recomputed"):
            return
        matrix = run.matrix("difference", "recomputed")
        wide = np.nan_to_num(np.where(matrix.known, matrix.values, 0.0), nan=np.inf)
        found = (wide > THRESHOLD).any(axis=0)
        if not found.any():
            return
        records = records_of(run, matrix.ids[found], "recomputed")
        names = _innermost([record.name for record in records])
        rows = (wide[:, found] > THRESHOLD).any(axis=1)
        steps = int(matrix.steps[rows][0]), int(matrix.steps[rows][-1])
        worst = float(wide.max())
        yield self.error(
            f"{at_steps(*steps)}: {counted(len(names), 'module')} gave a different "
            f"output when recomputed in backward, by up to {number(worst)}: "
            f"{in_words(names)}",
            cause="Random numbers, the mode, autocast or a state differed when "
            "gradient checkpointing recomputed the block.",
            fix="Leave preserve_rng_state=True, and change neither mode nor precision "
            "between forward and backward.",
            places={"module": names, "config": "preserve_rng_state"},
            steps=steps,
            evidence={
                "modules": len(names),
                "largest_difference": worst,
                "threshold": THRESHOLD,
            },
            healthy="the same output in forward and in backward",
        )


def _innermost(names: list[str]) -> list[str]:
    """Leave out modules that differ because a module within them does."""
    return [name for name in names if not any(o.startswith(f"{name}.") for o in names)]
