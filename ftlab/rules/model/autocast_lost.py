"""The rule MOD026, autocast-lost.

## What it does
Finds models that were trained in mixed precision until the autocast wrapper was removed
from the model, and that continue in the precision of their weights.

## Why is this bad?
Activations are in float32 from then on: a step takes longer and needs more memory,
often too much. Losses and gradients are rounded differently than before, and a run with
float16 and a scaler keeps scaling for nothing. Nothing warns about it, and
`accelerator.mixed_precision` is unchanged.

## Evidence
On the steps on which slow measurements are due: whether autocast is on at the calls of
modules within the model's forward, and whether it decorates the `forward` that was put
on the model. A finding where both were so, and neither is at the last 2 checked steps.
There is no threshold on how much ran in which precision: one call under autocast is
enough for it to be on. Autocast that a loop enters around the call of the model is the
loop's own decision, step by step, and is not reported. Measured with accelerate 1.15:
after `unwrap_model(model, keep_fp32_wrapper=False)` all modules of a tiny Llama run in
float32, of the very object that is trained.
By hand: `"_original_forward" in vars(model)` is true as long as it is prepared; or the
dtype of an `mlp`'s output in a forward hook.

## What to try
1. `accelerator.unwrap_model(model)`, which leaves the wrapper on. Use
   `keep_fp32_wrapper=False` only after the last step.
2. `accelerator.get_state_dict(model)` for saving, which touches nothing.
3. Where it was removed, prepare the model again before continuing.

## Known problems
A second stage in full precision on a model that was unwrapped on purpose is reported.
Compiled models are not inspected, nor are autocast implementations of packages other
than torch.

## References
- accelerate `utils/other.py`, `extract_model_from_parallel`
- huggingface/accelerate#948, huggingface/diffusers#1855 (can training continue after
  it?)
- huggingface/accelerate#1025 (the default was changed)
"""

import numpy as np

from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_steps_if_recorded
from ftlab.rules.words import at_steps

TABLE = "autocast"

MIN_STEPS = 2
"""Steps at the end that must be without it."""


class AutocastLost(Rule):
    """Finds models that no longer run in mixed precision."""

    code = "MOD026"
    requires = needs_steps_if_recorded(
        "recomputed",
        "whether autocast is on within the model",
        "ftlab.watch(...) with its standard probes, on a model that is not compiled",
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for the model."""
        if "inside" not in run.columns(TABLE):
            return
        inside = run.matrix("inside", TABLE)
        wrapped = run.matrix("wrapped", TABLE).values
        for column, row in enumerate(inside.ids):
            known = inside.known[:, column]
            on = inside.values[known, column] > 0
            kept = wrapped[known, column] > 0
            steps = inside.steps[known]
            both = np.flatnonzero(on & kept)
            after = slice(int(both[-1]) + 1, None) if len(both) else slice(0)
            off = ~on[after] & ~kept[after]
            if len(off) >= MIN_STEPS and off.all():
                (record,) = records_of(run, np.array([row], np.int32), TABLE)
                last, end = int(steps[both[-1]]), int(steps[-1])
                dtype = text_of(record, "dtype")
                yield self._finding(record.name, dtype, (last, end))

    def _finding(self, name: str, dtype: str, steps: tuple[int, int]) -> Finding:
        last, end = steps
        return self.warning(
            f"{at_steps(last + 1, end)}: autocast to {dtype} is off in the forward of "
            f"{name}; it was last seen on at step {last}",
            cause="The autocast wrapper was removed from the model in training, as "
            "unwrap_model(model, keep_fp32_wrapper=False) does.",
            fix="Use plain accelerator.unwrap_model(model) during training, or "
            "accelerator.get_state_dict(model) to save.",
            places={
                "call": "unwrap_model",
                "config": "keep_fp32_wrapper",
                "module": name,
            },
            steps=(last + 1, end),
            reason="wrapper-removed",
            evidence={"last_on": last},
            healthy="autocast stays on from the first step to the last",
        )
