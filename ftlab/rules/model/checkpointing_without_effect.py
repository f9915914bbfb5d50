"""The rule MOD011, checkpointing-without-effect.

## What it does
Finds models that keep all their activations although gradient checkpointing is switched
on.

## Why is this bad?
Memory is as high as without it, and nothing warns about it: batches stay small, or
training runs out of memory although all the usual advice was followed.

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

The last three only where nothing at all ran in backward. Measured on a tiny Llama: 306
thousand values are kept for backward without checkpointing, 49 thousand with it, and
306 thousand in each of these cases, without a warning. Blocks in evaluation mode are
reported by MOD006.

## What to try
1. Switch it on last, after every change of the model:
   `model.gradient_checkpointing_enable()`.
2. Let a patched forward call the original one: `old = block.forward`, and then
   `old(...)`; or patch a part of the block instead of the block.
3. In a custom model, call `torch.utils.checkpoint.checkpoint` around each block.
By hand: `sum(n.numel() ...)` of what `torch.autograd.graph.saved_tensors_hooks` is
given, with and without it.

## Known problems
A model that checkpoints only long inputs is reported while all inputs are short.
Compiled blocks are not inspected, nor are checkpoint functions of packages other than
torch and transformers: they may offload instead of recomputing.

## Known myths
- "`use_cache=True` switches checkpointing off": transformers 5.23 switches the cache
  off, with a warning, and checkpoints.
- "Blocks that were wrapped or copied (`deepcopy`) lose it": they do not, measured.
- "It must be switched on before get_peft_model": either order works.

## References
- transformers `modeling_layers.py`, `GradientCheckpointingLayer`
- huggingface/transformers#48200 (`every_n_layers`, which marks some blocks only)
- NVIDIA-NeMo/Automodel#1621 (models whose forward does not look at the mark)
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words, short_name
from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import at_steps, counted
from ftlab.runlog.run import Run

TABLE = "kept"

MIN_STEPS = 2
"""Steps at which it must have been so."""

ENABLE = Place("call", "gradient_checkpointing_enable")


class CheckpointingWithoutEffect(Rule):
    """Finds models that keep what they were told to compute again."""

    code = "MOD011"
    name = "checkpointing-without-effect"
    since = "0.1.0"
    status = "stable"
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
        """Yield one finding for all blocks."""
        if TABLE not in run.columns(TABLE):
            return
        matrix = run.matrix(TABLE, TABLE)
        again = run.steps["recomputed"]
        looked = run.steps.step[~np.isnan(again)]
        known = matrix.known & (matrix.values > 0)
        late = known[matrix.steps == looked[-1]].any(axis=0)
        lasting = late & (known.sum(axis=0) >= MIN_STEPS)
        records = [
            record
            for record in records_of(run, matrix.ids[lasting], TABLE)
            if text_of(record, "kind") == "block" or not np.nansum(again)
        ]
        if records:
            rows = matrix.steps[known[:, lasting].any(axis=1)]
            yield self._finding(records, (int(rows[0]), int(rows[-1])))

    def _finding(
        self, records: Sequence[NameRecord], steps: tuple[int, int]
    ) -> Finding:
        reason, cause, fix = _REASONS[text_of(records[0], "kind")]
        names = [record.name for record in records]
        modules = [Place("module", name) for name in names]
        config = Place("config", "gradient_checkpointing")
        block = reason == "forward-replaced"
        who = f"{counted(len(names), 'block')}: {in_words(names)}"
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: gradient checkpointing is switched on but nothing "
            f"was recomputed in backward{f', in {who}' if block else ''}",
            cause=cause.format(short_name(names[0]), text_of(records[0], "class")),
            fix=fix,
            places=[*modules, ENABLE, config]
            if reason in ("forward-replaced", "mark-unread")
            else [config, ENABLE, *modules],
            steps=steps,
            evidence={"reason": reason, "modules": len(names)},
            healthy="checkpointed blocks are recomputed in backward",
        )


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
