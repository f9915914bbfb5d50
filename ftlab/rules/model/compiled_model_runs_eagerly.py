"""The rule MOD020, compiled-model-runs-eagerly.

## What it does
Finds models that are compiled and run eagerly all the same: nobody calls the compiled
one, compiling failed without a word, or it was compiled anew until Dynamo gave up.

## Why is this bad?
Compilation is switched on, may take longer than many steps, and brings nothing. At most
one line in the log says so.

## Evidence
Calls of the inner module, where a hook sees whether Dynamo traces them, and what Dynamo
records about each frame of the watched model. There is no threshold of our own.
- *bypassed*: the model is compiled as a whole and by nothing else, and the module
  inside was called with a graph at every step, at 2 steps at least, and never through
  the wrapper, not even in evaluations. Calls under a stance other than the default
  (`force_eager`) do not count.
- *failed*: an attempt ended in an error of the compiler or the backend while
  `torch._dynamo.config.suppress_errors` was on; graph breaks do not count. A warning
  where no frame of the model was compiled, otherwise info.
- *limit*: `torch._dynamo.config.recompile_limit` (8 by default;
  `accumulated_recompile_limit`, 256) was reached. Runs with two shapes, dynamic shapes,
  or a graph for evaluation stay below it. The guard, and the line that needs it, are
  those of the last time.
Measured with torch 2.13: `net.training_step(x)` and `net._orig_mod(x)` compile 0
frames, and `net(x)` compiles 1. With a backend that raises, `counters["frames"]` shows
1 tried and 0 compiled, and training goes on. A module that counts its calls in a Python
integer gets 8 graphs in 8 steps, and none from then on; with a tensor for a counter it
is 1 graph.
By hand: `torch._dynamo.utils.counters["frames"]`, and `TORCH_LOGS=recompiles`.

## What to try
1. Call the compiled model itself: `net(**batch)`. `model.compile()` compiles in place,
   and `torch.compile(model.training_step)` the method that is called.
2. `torch._dynamo.config.suppress_errors = False`, and unset the environment variable
   `TORCHDYNAMO_SUPPRESS_ERRORS`: the error shows. Fix it, or use a different backend:
   `torch.compile(model, backend="aot_eager")` needs no compiler.
3. By the guard: keep a number that changes in a tensor (`register_buffer`) or change it
   outside of forward; for a size use `torch.compile(dynamic=True)` or pad to few
   lengths; for the index of a block (all blocks share one code) compile the whole
   model, or raise the limit to their number.

## Known problems
What bypasses `model.compile()` (`model.forward(x)`) calls no hook; parts that are
compiled separately, and models of a class of torch's own, such as `Sequential`, are not
checked either. Failures before watching began are not known. Blocks of one class that
are compiled separately share one limit.

## References
- torch `_dynamo/eval_frame.py` (`OptimizedModule.__getattr__`), `convert_frame.py`,
  `cache_size.py`
- pytorch/pytorch#141616 (`torch.compile(module)` compiles forward only), #107044
  (`suppress_errors` swallows exceptions), #128319 (the limit)
"""

import numpy as np

from ftlab.rules.reading.compiling import WATCHED, compiles, noted
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, in_words

MIN_STEPS = 2
"""Steps that were trained past the compiled model."""

HEALTHY = "each call goes through few graphs, all compiled within the first steps"


class CompiledModelRunsEagerly(Rule):
    """Finds compiled models that run eagerly."""

    code = "MOD020"
    requires = WATCHED
    applies = staticmethod(compiles)

    def check(self, run: Run) -> Results:
        """Yield one finding of each kind."""
        for judge in (self._bypassed, self._failed, self._limit):
            if (found := judge(run)) is not None:
                yield found

    def _bypassed(self, run: Run) -> Finding | None:
        if "bypassed_calls" not in run.steps.columns:
            return None
        bypassed = run.steps["bypassed_calls"]
        known = ~np.isnan(bypassed)
        calls = int(np.nansum(bypassed))
        steps = run.steps.step[known]
        parts = (run.facts.model.get("compilation") or {}).get("modules", [""])
        if any(parts) or np.nansum(run.steps["compiled_calls"]):
            return None
        if len(steps) < MIN_STEPS or not (bypassed[known] > 0).all():
            return None
        first, last = int(steps[0]), int(steps[-1])
        return self.warning(
            f"{at_steps(first, last)}: the model is compiled, but none of its {calls} "
            "calls in training went through the compiled model",
            cause="Only calls of the compiled object itself are compiled. Its methods "
            "and attributes (training_step, _orig_mod) are those of the inner module, "
            "which runs eagerly.",
            fix="Call the compiled model itself, or use model.compile(), which works "
            "in place.",
            places={"call": "torch.compile", "module": "model"},
            steps=(first, last),
            reason="bypassed",
            evidence={"calls": calls, "compiled": 0, "threshold": 0},
            healthy=HEALTHY,
        )

    def _failed(self, run: Run) -> Finding | None:
        failed = noted(run, "failed")
        if not failed:
            return None
        compiled = 0
        if "compiled_frames" in run.steps.columns:
            compiled = int(np.nansum(run.steps["compiled_frames"]))
        count = sum(int(record.meta["frames"]) for record in failed)
        names = [record.name for record in failed]
        error, reason = text_of(failed[0], "error"), text_of(failed[0], "reason")
        step = failed[0].since_step
        return self.finding(
            Severity.INFO if compiled else Severity.WARNING,
            f"step {step}: compiling {counted(count, 'frame')} of the model failed "
            f"({error}) and {compiled} succeeded, at {in_words(names)}; failed frames "
            "run eagerly",
            cause="torch._dynamo.config.suppress_errors is on: the error was written "
            f"to the log, and Python runs the code instead. It says: {reason}",
            fix="Set torch._dynamo.config.suppress_errors = False to see the error; "
            "fix it, or use a different backend.",
            places={
                "config": "suppress_errors",
                "call": "torch.compile",
                "module": names,
            },
            steps=(step, step),
            reason="failed",
            evidence={"failed": count, "compiled": compiled, "threshold": 0},
            healthy=HEALTHY,
        )

    def _limit(self, run: Run) -> Finding | None:
        given_up = noted(run, "limit")
        if not given_up:
            return None
        names = [record.name for record in given_up]
        guard, line = text_of(given_up[0], "guard"), text_of(given_up[0], "line")
        step = min(record.since_step for record in given_up)
        where = f" ({line})" if line else ""
        return self.warning(
            f"step {step}: the recompile limit is reached in the forward of "
            f"{in_words(names)}, which runs eagerly from here on: {guard}{where}",
            cause=f"The guard {guard} failed again and again: it holds for one value "
            "only, and each other value needs its own graph.",
            fix="Keep changing values in a tensor or outside of forward, use dynamic "
            "shapes for sizes, or raise recompile_limit if there are few values.",
            places={
                "module": names,
                "call": "torch.compile",
                "config": "recompile_limit",
            },
            steps=(step, step),
            reason="limit",
            evidence={"guard": guard, "line": line, "threshold": 0},
            healthy=HEALTHY,
        )
