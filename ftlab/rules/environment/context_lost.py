"""The rule ENV009, context-lost.

## What it does
Finds calls of the model in a thread, a call of a thread pool, a task or a loader's
worker that does without a setting which was on where that was started: autocast, grad
mode, inference mode, the default device, CUDA's current device or stream, or a context
variable of your own; and tasks that run with what another task has left on.

## Why is this bad?
The model computes in another precision, keeps graphs in an evaluation, has no graph in
a training, or works on another device, and nothing is raised.

## Evidence
Each thread, task and call of a pool is told apart when it starts: what its starter has
is read, and read again where it begins or goes on. Told where the model is then called
with a difference that is still there. Loaders' workers are told where they are not
forked and the default dtype is not float32, or a context variable of yours is set.

## What to try
1. `with ftlab.scope():` around what starts threads and tasks: it carries all that over.
2. Enter `torch.autocast(...)` or `torch.no_grad()` in the thread's own function.
3. Close the block before the `await`: what it sets belongs to the thread, and all tasks
   of an event loop share one.

## Known problems
A thread that sets a context variable after it has called the model is told, too: as a
note. Event loops in C (uvloop) start tasks unseen.

## References
- PyTorch, "Automatic Mixed Precision package": "The autocast state is thread-local"
- PyTorch, `torch.no_grad`: "This context manager is thread local"
- Python, `contextvars`, and `asyncio.loop.run_in_executor`, which does not copy them
"""

from ftlab.records.lost_context import LostContext
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity, needs_step_values
from ftlab.runlog.codec import from_json


class ContextLost(Rule):
    """Finds settings that did not reach where the model was called."""

    code = "ENV009"
    requires = needs_step_values(
        "calls_elsewhere", "calls in threads and tasks", "ftlab.watch(...)"
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for each place where something starts."""
        found: dict[tuple[str, ...], list[LostContext]] = {}
        steps: dict[tuple[str, ...], int] = {}
        for event in run.whole.events:
            if event.kind == "context":
                lost = from_json(LostContext, event.detail)
                place = (lost.kind, lost.started, lost.called, lost.holder)
                found.setdefault(place, []).append(lost)
                steps.setdefault(place, event.step)
        for key, group in found.items():
            yield self._finding(group, steps[key])

    def _finding(self, group: list[LostContext], step: int) -> Finding:
        lost = group[0]
        own = all(each.what.startswith("variable") for each in group)
        was, now = (
            ", ".join(getattr(each, when) for each in group) for when in ("was", "now")
        )
        return self.finding(
            Severity.INFO if own else Severity.WARNING,
            f"{lost.kind} {lost.name!r} runs with {now}, but was started with {was}, "
            f"at {lost.started}",
            cause=_cause(lost),
            fix="Start it in `with ftlab.scope():`, or set that again in its function.",
            places={"call": [lost.called, lost.started]},
            steps=(step, step),
            reason=lost.what,
            evidence={"was": was, "now": now, "holder": lost.holder},
            healthy="the model has the settings of who started it",
        )


def _cause(lost: LostContext) -> str:
    if lost.holder:
        return (
            f"Task {lost.holder!r} has left a block open across an await. What it sets "
            "belongs to the thread, which all tasks of an event loop share."
        )
    if lost.kind == "task":
        return (
            "What is set belongs to the thread, not to a task: the block had ended "
            "when the task went on."
        )
    if lost.kind == "loader's worker":
        return "A process that is not forked begins anew: only imports run in it."
    return f"A thread begins without what was set in another one ({lost.what})."
