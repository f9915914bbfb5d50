"""The rule MOD020, compiled-model-bypassed.

## What it does
Finds training with `torch.compile(model)` that never calls the compiled model.

## Why is this bad?
Everything runs eagerly, at the speed of an uncompiled model, and nothing warns about
it: the wrapper has all attributes of the inner module, but only calls of the wrapper
itself are compiled.

## Evidence
Calls of the inner module; a hook sees whether Dynamo traces them. A run is reported
when the watched model is compiled as a whole and by nothing else, the module inside was
called with a graph at every step, at 2 steps at least, and never through the wrapper,
not even in evaluations. There is no threshold. Calls under a stance other than the
default (`force_eager`) do not count. Measured with torch 2.13: `net.training_step(x)`
and `net._orig_mod(x)` compile 0 frames, and `net(x)` compiles 1.

## What to try
1. Call the compiled model itself: `net(**batch)`.
2. `model.compile()` compiles in place: calls by the model's own methods are compiled.
3. Or compile the method that is called: `torch.compile(model.training_step)`.
By hand: `torch._dynamo.utils.counters["frames"]` after some steps is empty.

## Known problems
`model.compile()` is not checked: what bypasses it (`model.forward(x)`) calls no hook.
Neither are parts that are compiled separately, and models of a class of torch's own,
such as `Sequential`.

## References
- torch `_dynamo/eval_frame.py`, `OptimizedModule.__getattr__`
- pytorch/pytorch#141616 (`torch.compile(module)` compiles forward only)
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

MIN_STEPS = 2
"""Steps that were trained past the compiled model."""


class CompiledModelBypassed(Rule):
    """Finds compiled models that are never called."""

    code = "MOD020"
    name = "compiled-model-bypassed"
    since = "0.1.0"
    status = "preview"
    requires = (
        needs_step_values(
            "bypassed_calls",
            "the calls of a compiled model",
            "ftlab.watch(compiled, optimizer) with its standard probes",
        ),
    )

    def applies(self, run: Run) -> bool:
        """Leave out models that are not compiled as a whole."""
        return not len(run.steps) or "bypassed_calls" in run.steps.columns

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the model."""
        bypassed = run.steps["bypassed_calls"]
        known = ~np.isnan(bypassed)
        calls = int(np.nansum(bypassed))
        steps = run.steps.step[known]
        parts = (run.facts.model.get("compilation") or {}).get("modules", [""])
        if any(parts) or np.nansum(run.steps["compiled_calls"]):
            return
        if len(steps) < MIN_STEPS or not (bypassed[known] > 0).all():
            return
        first, last = int(steps[0]), int(steps[-1])
        yield self.finding(
            Severity.WARNING,
            f"{at_steps(first, last)}: the model is compiled, but none of its {calls} "
            "calls in training went through the compiled model",
            cause="Only calls of the compiled object itself are compiled. Its methods "
            "and attributes (training_step, _orig_mod) are those of the inner module, "
            "which runs eagerly.",
            fix="Call the compiled model itself, or use model.compile(), which works "
            "in place.",
            places=[Place("call", "torch.compile"), Place("module", "model")],
            steps=(first, last),
            evidence={"calls": calls, "compiled": 0, "threshold": 0},
            healthy="calls of the inner model go through the compiled one",
        )
