"""The rule MOD005, hook-not-in-graph.

## What it does
Finds forward hooks that were registered on a module after it was compiled.

## Why is this bad?
The compiled graph runs without them, and nothing warns about it: noise on embeddings
(NEFTune), `requires_grad_` on an output, a measurement or a patch simply does not
happen.

## Evidence
The guards of each graph that `torch.compile` has made say what it contains. A hook
counts as missing when a graph contains its module and no guard of it names a hook of
that kind there. There is no threshold. Hooks of ftlab, torch, accelerate and PEFT are
ignored, and so are hooks on the compiled module itself, which run outside of its graph.
Measured with torch 2.13: a hook that adds noise is called 0 times through the compiled
model and once through the same model uncompiled; registered before the first call, or
after `torch._dynamo.reset()`, it is in the graph.

## What to try
1. Register hooks before the compiled model is called for the first time.
2. `torch._dynamo.reset()` after registering them: the next call recompiles.
3. `torch._dynamo.config.skip_nnmodule_hook_guards = False` before compiling makes torch
   check hooks at every call.
By hand: let the hook count its calls, and compare compiled and uncompiled.

## Known problems
Graphs belong to the code of a class: with two models of one class of which only one is
compiled, a hook on the other is reported too.

## Known myths
"Adapters that come after compiling do not learn": measured with torch 2.13 (backends
eager and aot_eager), adapters added, switched, enabled, unmerged or unfrozen after the
first compiled call get a gradient in 8 of 8 tensors, and a model that is unfrozen in 21
of 21, since graphs are guarded on each parameter's `requires_grad`. With the guards on
modules left out (`guard_filter_fn`, `set_stance(skip_guard_eval_unsafe=True)`) it is 1
of 21: GRD003 reports that, with the reason stale-graph.

## References
- pytorch/pytorch#117758 (hooks registered after compilation do not run)
- pytorch/pytorch#98371, #98372 (`skip_nnmodule_hook_guards`)
"""

from ftlab.rules.reading.wiring import steps_of
from ftlab.rules.rule import Results, Rule, Run, needs_facts, to_runs_with
from ftlab.rules.words import counted, in_words


class HookNotInGraph(Rule):
    """Finds hooks that compiled graphs run without."""

    code = "MOD005"
    status = "stable"
    requires = needs_facts(
        "model", "facts of the model", "ftlab.watch(model, optimizer)"
    )
    applies = to_runs_with(lambda run: bool(run.facts.model.get("compilation")))

    def check(self, run: Run) -> Results:
        """Yield one finding for all such hooks."""
        ignored = run.facts.model["compilation"].get("ignored_hooks", {})
        if not ignored:
            return
        first, last = steps_of(run)
        kinds = ", ".join(dict.fromkeys(ignored.values()))
        yield self.warning(
            f"step {first}: {counted(len(ignored), 'module')} with a {kinds} that the "
            f"compiled graph does not contain: {in_words(ignored)}",
            cause="The hook was registered after the module was compiled. Graphs are "
            "not guarded on hooks, so the old graph, without it, is still used.",
            fix="Register hooks before the first compiled call, or call "
            "torch._dynamo.reset() after it.",
            places={"module": ignored, "call": "torch.compile"},
            steps=(first, last),
            evidence={"modules": len(ignored), "hooks": kinds, "threshold": 0},
            healthy="the guards of a graph name every hook of its modules",
        )
