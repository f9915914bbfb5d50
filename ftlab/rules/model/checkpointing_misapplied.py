"""The rule MOD011, checkpointing-misapplied.

## What it does
Finds models that keep all their activations although gradient checkpointing is switched
on, and modules that are recomputed twice in each backward.

## Why is this bad?
Without effect, memory is as high as if it were off, and nothing warns about it: batches
stay small, or training runs out of memory although all the usual advice was followed.
Around the same module twice, forward runs three times instead of two, and a step takes
about a quarter longer for nothing: the second checkpoint keeps what the first one keeps
already.

## Evidence
The calls of modules on the steps on which slow measurements are due: which ran in
forward, and which ran again within backward. A block counts when it ran with a graph in
training mode, its parameters have gradients, and nothing in it ran in backward. There
is no threshold; it must be so at 2 steps, including the last checked one.
- *forward-replaced*: the block has the flag set and is of a class that reads it
  (transformers' `GradientCheckpointingLayer`). That class reads it in `forward` since
  5.23, in `__call__` before: a forward that was set on the instance, or on the class,
  runs instead. By hand: `"forward" in vars(block)`.
- *mark-unread*: the flag is set on something that never reads it, and on no block: it
  was set by hand, or the blocks were replaced after it was switched on.
- *config-unread*: `config.gradient_checkpointing` is true. transformers reads it while
  the model is built, and only for classes that support it.
- *enabled-by-nothing*: the Trainer's arguments enable it, but the model's own
  `gradient_checkpointing_enable` has flagged no block.
- *nested*: something was recomputed twice as often, and two calls of
  `torch.utils.checkpoint.checkpoint` are among the callers of the same modules in
  forward. All within the inner one ran again at least twice for each call in forward,
  and the outer one holds nothing else: no other module, no parameter of its own.

The three in between only where nothing at all ran in backward. Measured on a tiny
Llama: 306 thousand values are kept for backward without checkpointing, 49 thousand with
it, and 306 thousand in each of the first four cases, without a warning. Nested, on four
blocks of a Llama with torch 2.13, CheckpointWrapper around blocks that have
`gradient_checkpointing` on: 3 runs a step with `use_reentrant=True` inside; 2 runs with
`use_reentrant=False`, which is not a fault and not reported. Blocks in evaluation mode
are reported by MOD006.

## What to try
1. Switch it on last, after every change of the model:
   `model.gradient_checkpointing_enable()`.
2. Let a patched forward call the original one: `old = block.forward`, and then
   `old(...)`; or patch a part of the block instead of the block.
3. In a custom model, call `torch.utils.checkpoint.checkpoint` around each block.
4. Of two kinds keep one: leave out `gradient_checkpointing_enable()` (and
   `gradient_checkpointing=True` of a trainer's arguments) where FSDP's
   `activation_checkpointing` or `apply_activation_checkpointing` is used.
By hand: `sum(n.numel() ...)` of what `torch.autograd.graph.saved_tensors_hooks` is
given, with and without it; count the calls of `model.layers[0].mlp` in one step.

## Known problems
A model that checkpoints only long inputs is reported while all inputs are short. A
checkpoint of a stage of several blocks, with others around single blocks in it,
recomputes these twice on purpose and is not reported; with a stage of one block it
cannot be told apart. Compiled blocks are not inspected, nor are checkpoint functions of
packages other than torch and transformers: they may offload instead of recomputing.

## Known myths
- "`use_cache=True` switches checkpointing off": transformers 5.23 switches the cache
  off, with a warning, and checkpoints.
- "Blocks that were wrapped or copied (`deepcopy`) lose it": they do not, measured.
- "It must be switched on before get_peft_model": either order works.

## References
- transformers `modeling_layers.py`, `GradientCheckpointingLayer`
- huggingface/transformers#48200 (`every_n_layers`, which marks some blocks only)
- NVIDIA-NeMo/Automodel#1621 (models whose forward does not look at the mark)
- meta-llama/llama-cookbook#740 (FSDP's checkpointing and transformers' own)
- Lightning-AI/pytorch-lightning#18006 (applied by hand and by the strategy)
- PyTorch, `torch.distributed.algorithms._checkpoint.checkpoint_wrapper`
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.records.name_words import in_words, short_name
from ftlab.records.names import NameRecord
from ftlab.rules.reading.recomputing import LOOKED_INTO
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import at_steps, counted, number
from ftlab.runlog.matrix import Matrix

KEPT, NESTED = "kept", "nested_checkpoints"

MIN_STEPS = 2
"""Steps at which it must have been so."""

ENABLE = Place("call", "gradient_checkpointing_enable")
CONFIG = Place("config", "gradient_checkpointing")


class CheckpointingMisapplied(Rule):
    """Finds checkpointing that saves nothing, or costs twice."""

    code = "MOD011"
    caused_by = ("EXP008",)
    status = "stable"
    requires = LOOKED_INTO

    def check(self, run: Run) -> Results:
        """Yield one finding for all blocks that are kept, one for all run twice."""
        if KEPT in run.columns(KEPT):
            yield from self._kept(run)
        if "runs" in run.columns(NESTED):
            yield from self._nested(run)

    def _kept(self, run: Run) -> Results:
        matrix = run.matrix(KEPT, KEPT)
        known = matrix.known & (matrix.values > 0)
        lasting, steps = _lasting(run, matrix, known)
        none = not np.nansum(run.steps["recomputed"])
        records = [
            record
            for record in records_of(run, matrix.ids[lasting], KEPT)
            if text_of(record, "kind") == "block" or none
        ]
        if records:
            yield self._finding(records, steps)

    def _nested(self, run: Run) -> Results:
        matrix = run.matrix("runs", NESTED)
        lasting, steps = _lasting(run, matrix, matrix.known)
        if not lasting.any():
            return
        records = records_of(run, matrix.ids[lasting], NESTED)
        runs = float(np.nanmin(matrix.values[:, lasting]))
        names = [record.name for record in records]
        outer, inner = (text_of(records[0], key) for key in ("outer", "inner"))
        yield self.warning(
            f"{at_steps(*steps)}: {counted(len(names), 'module')} ran {number(runs)} "
            f"times for each forward, two of these in backward: {in_words(names)}",
            cause="Two checkpoints are nested around the same modules: one called by "
            f"{outer or 'the loop'}, and inside it one called by "
            f"{inner or 'the loop'}.",
            fix="Keep one of the two: leave out gradient_checkpointing_enable(), or "
            "apply_activation_checkpointing (FSDP's activation_checkpointing).",
            places=[
                *(Place("module", name) for name in names),
                ENABLE,
                Place("call", "apply_activation_checkpointing"),
                CONFIG,
            ],
            steps=steps,
            reason="nested",
            evidence={"modules": len(names), "runs": runs},
            healthy="a checkpointed module runs twice for each forward",
        )

    def _finding(
        self, records: Sequence[NameRecord], steps: tuple[int, int]
    ) -> Finding:
        reason, cause, fix = _REASONS[text_of(records[0], "kind")]
        names = [record.name for record in records]
        modules = [Place("module", name) for name in names]
        block = reason == "forward-replaced"
        who = f"{counted(len(names), 'block')}: {in_words(names)}"
        return self.warning(
            f"{at_steps(*steps)}: gradient checkpointing is switched on but nothing "
            f"was recomputed in backward{f', in {who}' if block else ''}",
            cause=cause.format(short_name(names[0]), text_of(records[0], "class")),
            fix=fix,
            places=[*modules, ENABLE, CONFIG]
            if reason in ("forward-replaced", "mark-unread")
            else [CONFIG, ENABLE, *modules],
            steps=steps,
            reason=reason,
            evidence={"modules": len(names)},
            healthy="checkpointed blocks are recomputed in backward",
        )


def _lasting(
    run: Run, matrix: Matrix, known: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], tuple[int, int]]:
    """Return which columns hold at enough steps and at the last, and from when on."""
    looked = run.steps.step[~np.isnan(run.steps["recomputed"])]
    late = known[matrix.steps == looked[-1]].any(axis=0)
    lasting: NDArray[np.bool_] = late & (known.sum(axis=0) >= MIN_STEPS)
    rows = matrix.steps[known[:, lasting].any(axis=1)]
    return lasting, (int(rows[0]), int(rows[-1])) if len(rows) else (-1, -1)


_REASONS = {
    "block": (
        "forward-replaced",
        "{1} checks its flag in its own forward, but a different forward runs instead: "
        "one that was set on the instance or on the class.",
        "Call the original forward from the one that replaces it, or patch a part of "
        "the block; then switch checkpointing on again.",
    ),
    "mark": (
        "mark-unread",
        "The flag is set on {0} ({1}), which never reads it, and on no block: it was "
        "set by hand, or the blocks were replaced after it was switched on.",
        "Call model.gradient_checkpointing_enable() after all changes of the model.",
    ),
    "config": (
        "config-unread",
        "The configuration enables it, but that is read only while a model is built, "
        "and only by classes that support it; setting it later does nothing.",
        "Call model.gradient_checkpointing_enable() on the model.",
    ),
    "arguments": (
        "enabled-by-nothing",
        "The trainer's arguments enable it, but gradient_checkpointing_enable of {1} "
        "has no effect here: it flagged no block.",
        "Forward the call to the inner model, or checkpoint each block in its forward "
        "with torch.utils.checkpoint.",
    ),
}
