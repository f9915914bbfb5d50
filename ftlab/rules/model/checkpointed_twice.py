"""The rule MOD025, checkpointed-twice.

## What it does
Finds modules that are recomputed twice in each backward, because two kinds of gradient
checkpointing wrap the same module.

## Why is this bad?
Forward runs three times instead of two, and a step takes about a quarter longer. The
second checkpoint saves nothing: it keeps what the first one keeps already. Nothing
warns about it, and the results are correct.

## Evidence
How often each module ran in forward and again within backward, and, once something was
recomputed twice as often, which calls of `torch.utils.checkpoint.checkpoint` are among
the callers of each module in forward. A module counts when all within the inner
checkpoint ran again at least twice for each call in forward, and the outer one holds
nothing else: no other module, no parameter of its own. There is no threshold; it must
be so at 2 of the steps on which slow measurements are due, including the last checked
one.
Measured on four blocks of a Llama with torch 2.13, CheckpointWrapper around blocks that
have `gradient_checkpointing` on: 3 runs a step with `use_reentrant=True` inside; 2 runs
with `use_reentrant=False` inside, which is not a fault and not reported.
By hand: count the calls of `model.layers[0].mlp` in one step with a forward pre-hook.

## What to try
1. Keep one of the two: leave out `model.gradient_checkpointing_enable()` (and
   `gradient_checkpointing=True` of a trainer's arguments) where FSDP's
   `activation_checkpointing` or `apply_activation_checkpointing` is used.
2. `model.gradient_checkpointing_disable()` on a model that has it on by default.

## Known problems
A checkpoint of a stage of several blocks, with others around single blocks in it,
recomputes these twice on purpose and is not reported; with a stage of one block it
cannot be told apart. Checkpoint functions of packages other than torch are not seen,
and compiled blocks are not inspected.

## References
- meta-llama/llama-cookbook#740 (FSDP's checkpointing and transformers' own)
- Lightning-AI/pytorch-lightning#18006 (applied by hand and by the strategy)
- PyTorch, `torch.distributed.algorithms._checkpoint.checkpoint_wrapper`
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import at_steps, counted, number
from ftlab.runlog.run import Run

TABLE = "nested_checkpoints"

MIN_STEPS = 2
"""Steps at which it must have been so."""


class CheckpointedTwice(Rule):
    """Finds checkpoints in checkpoints around the same modules."""

    code = "MOD025"
    name = "checkpointed-twice"
    since = "0.1.0"
    status = "preview"
    requires = (
        needs_step_values(
            "recomputed",
            "which modules run again within backward",
            "ftlab.watch(...) with its standard probes, on a model that is not "
            "compiled",
        ),
    )

    def applies(self, run: Run) -> bool:
        """Leave out runs whose modules were never looked into."""
        return not len(run.steps) or "recomputed" in run.steps.columns

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all modules."""
        if "runs" not in run.columns(TABLE):
            return
        matrix = run.matrix("runs", TABLE)
        looked = run.steps.step[~np.isnan(run.steps["recomputed"])]
        late = matrix.known[matrix.steps == looked[-1]].any(axis=0)
        lasting = late & (matrix.known.sum(axis=0) >= MIN_STEPS)
        if lasting.any():
            rows = matrix.steps[matrix.known[:, lasting].any(axis=1)]
            yield self._finding(
                records_of(run, matrix.ids[lasting], TABLE),
                (int(rows[0]), int(rows[-1])),
                float(np.nanmin(matrix.values[:, lasting])),
            )

    def _finding(
        self, records: Sequence[NameRecord], steps: tuple[int, int], runs: float
    ) -> Finding:
        names = [record.name for record in records]
        outer, inner = (text_of(records[0], key) for key in ("outer", "inner"))
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: {counted(len(names), 'module')} ran {number(runs)} "
            f"times for each forward, two of these in backward: {in_words(names)}",
            cause="Two checkpoints are nested around the same modules: one called by "
            f"{outer or 'the loop'}, and inside it one called by "
            f"{inner or 'the loop'}.",
            fix="Keep one of the two: leave out gradient_checkpointing_enable(), or "
            "apply_activation_checkpointing (FSDP's activation_checkpointing).",
            places=[
                *(Place("module", name) for name in names),
                Place("call", "gradient_checkpointing_enable"),
                Place("call", "apply_activation_checkpointing"),
                Place("config", "gradient_checkpointing"),
            ],
            steps=steps,
            evidence={"reason": "nested", "modules": len(names), "runs": runs},
            healthy="a checkpointed module runs twice for each forward",
        )
