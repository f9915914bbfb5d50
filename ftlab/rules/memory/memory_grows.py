"""The rule MEM001, memory-grows.

## What it does
Finds memory that grows with each step, and names who holds what grows: the variable,
attribute, closure, hook, cache or queue, and the line that puts it there.

## Why is this bad?
The run ends in an out-of-memory error, after minutes or after days. What is kept with
its graph keeps all activations of its step.

## Evidence
Before the first forward of each step the bytes that are allocated are read (glibc's
`mallinfo2`, CUDA's allocator). Where they grow from each step to the next, but for a
quarter of 8 steps, sizes of batches taken into account, three looks are taken two steps
apart: one walk over all that the user's names reach, with what autograd graphs have
saved. What grew in both intervals is told, where it adds 1 % of the memory in use in
1,000 steps.
What no name reaches is looked for too: reference cycles that wait for the collector.
The processes of a loader look at themselves in the same way, batch by batch; and where
forwards with gradients on follow each other without a backward, as in an evaluation,
it is looked for graphs that are kept from one to the next.
The severity follows what is held: graphs, hooks and cycles are a warning; what a bound
limits, what is taken out of again, or a dataset's own cache, a note. Where the run goes
on it follows what memory has done since: grown by a quarter of that, or not.

## What to try
1. Keep a number, not a tensor: `losses.append(loss.item())`; `loss.detach()` where it
   must stay on the device.
2. Take a hook off again (`handle.remove()`), and let it keep `out.detach()` or a
   statistic.
3. Bound a cache (`lru_cache(maxsize=...)`) or a queue (`deque(maxlen=...)`).
4. In a notebook end a cell with a semicolon; `%reset -f out` lets go of what was kept.
5. `ftlab.memory()` shows who holds what now.

## Known problems
A cache that is being filled grows too until it is full. What C++ alone holds (a CUDA
graph's pool) has no Python object to be named. Python's own numbers, and what lies in a
list of over 20,000 elements, are not counted. A process of a loader is looked into
where glibc counts what is allocated, from its twelfth batch on.

## References
- huggingface/transformers#6999 (losses kept with their graphs)
- pytorch/pytorch FAQ, "My model reports cuda runtime error(2): out of memory"
- jupyter/notebook#2201 (`Out` keeps values of cells)
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ftlab.records.event import Event
from ftlab.records.holding import Growth, Path, names_on, path_text
from ftlab.records.sizes import size
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity, needs_step_values
from ftlab.rules.words import counted
from ftlab.runlog.codec import from_json
from ftlab.runlog.parting_cause import loader_starts

MEASURED = needs_step_values(
    "idle_bytes", "the memory in use before each step", "ftlab.watch(...)"
)
NEEDS = replace(MEASURED, present=lambda run: any(_told(run)) or MEASURED.present(run))

LATER = 16
"""Steps after a look from which it is asked whether memory went on growing."""

SAMPLES = 3
"""Readings of which the lowest counts: what is emptied again goes up and down."""

GOES_ON = 0.25
"""Share of the growth that memory must have kept since; a full cache has kept none."""


class MemoryGrows(Rule):
    """Finds what holds more with each step."""

    code = "MEM001"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding for each holder."""
        for event in _told(run):
            step, forwards = event.step, event.detail.get("forwards", 0)
            for values in event.detail.get("growth", ()):
                growth, steps = from_json(Growth, values), (max(step - 4, 0), step)
                if forwards:
                    until = f"over {forwards} forwards without an update"
                    yield self._finding(growth, until, "forward", steps)
                else:
                    goes_on, until = _goes_on(run, growth, step), f"until step {step}"
                    yield self._finding(growth, until, "step", steps, goes_on)
        yield from self._in_workers(run)

    def _in_workers(self, run: Run) -> Results:
        """Yield one finding for each holder, not for each worker and epoch."""
        told: set[Path] = set()
        for start in loader_starts(run):
            for worker in start.started:
                for values in worker.growth:
                    growth = from_json(Growth, values["growth"])
                    if growth.path not in told:
                        told.add(growth.path)
                        until = (
                            f"in worker {worker.worker} of the loader's "
                            f"{start.workers}, until its batch {values['batches']}"
                        )
                        steps = start.step, start.step
                        yield self._finding(growth, until, "batch", steps)

    def _finding(
        self,
        growth: Growth,
        until: str,
        unit: str,
        steps: tuple[int, int],
        goes_on: bool | None = None,
    ) -> Finding:
        name = path_text(growth.path)
        cause, fix = _words(growth)
        bounded = bool(growth.limit or growth.kind == "dataset" or growth.emptied)
        if goes_on is False:
            cause = f"Since then memory has not grown with it. {cause}"
        elif goes_on is None:
            goes_on = not bounded or growth.what == "graph"
        lines = "".join(f" {at}: {line}." for at, line in growth.lines)
        return self.finding(
            Severity.WARNING if goes_on else Severity.INFO,
            f"{until}: `{name}` keeps {_things(growth)}, {size(growth.bytes)} so far, "
            f"{size(growth.bytes_per_step)} more with each {unit}",
            cause=cause + lines,
            fix=fix,
            places={"object": name, "call": [at for at, _ in growth.lines]},
            steps=steps,
            evidence={
                "holder": growth.kind,
                f"bytes_per_{unit}": growth.bytes_per_step,
                "threshold": growth.threshold,
                "count": growth.count,
                "bytes": growth.bytes,
                "after_1000": size(1000 * growth.bytes_per_step),
            },
            healthy=f"the same memory before each {unit}",
        )


def _told(run: Run) -> Iterator[Event]:
    return (each for each in run.events if each.kind == "memory")


def _goes_on(run: Run, growth: Growth, step: int) -> bool | None:
    """Tell whether memory went on growing since; ``None`` where that is not known."""
    steps, used = run.steps.step, np.asarray(run.steps["idle_bytes"])
    later = np.isfinite(used) & (steps > step + LATER)
    then = used[steps == step]
    if later.sum() < SAMPLES or not np.isfinite(then).all():
        return None
    least = used[later][-SAMPLES:].min() - then.max()
    grown = growth.bytes_per_step * (steps[later][-SAMPLES] - step)
    return bool(least > GOES_ON * grown)


def _things(growth: Growth) -> str:
    if growth.kind == "garbage":
        return f"{counted(growth.count, 'tensor')} that nothing else reaches"
    noun = "thing" if growth.what == "objects" else growth.what
    of = f" ({growth.example})" if growth.example else ""
    return f"{counted(growth.count, noun)}{of}"


def _words(growth: Growth) -> tuple[str, str]:
    """Say why it is kept, and what to do."""
    names = names_on(growth.path)
    if growth.what == "graph":
        fix = _GRAPH_FIX.get(growth.kind, "Keep value.item(), or value.detach().")
        return (
            "What is kept was made with gradients on, so each one keeps the graph of "
            "its step with all activations.",
            fix.format(names[0] if names else "it"),
        )
    if growth.emptied and growth.kind in ("closure", "collection", "variable"):
        at, line = growth.emptied[0]
        return (
            f"Something is added each time, and taken out at {at}: {line}.",
            "If that comes in time, all is well; else take out sooner.",
        )
    return _WORDS[growth.kind]


_GRAPH_FIX = {
    "variable": "Detach it where it goes into the next step: {0} = {0}.detach().",
    "hook": "Let the hook keep out.detach() or a statistic; take it off again with "
    "handle.remove().",
}

_WORDS = {
    "cache": (
        "Its results are cached for each new argument.",
        "Bound it: lru_cache(maxsize=...), or leave tensors out of it.",
    ),
    "closure": (
        "A function that is still in use keeps it among its variables.",
        "Keep a number or a statistic instead; let go of the function after use.",
    ),
    "collection": (
        "Something is added each time and nothing is taken out.",
        "Keep a number or a statistic of it, or only the latest ones: "
        "collections.deque(maxlen=...).",
    ),
    "dataset": (
        "The dataset keeps what it has read; that ends when all of it was read.",
        "Make sure that all of it fits into memory, or keep the latest rows only.",
    ),
    "garbage": (
        "These objects hold each other: only Python's collector frees them, and it "
        "looks at old objects seldom, or never after gc.disable().",
        "Hold the way back by a weak reference (weakref.ref), or call gc.collect() "
        "every few steps.",
    ),
    "hook": (
        "A hook keeps what it sees, or one more hook is put on in each step.",
        "Take it off again: handle.remove().",
    ),
    "notebook": (
        "IPython keeps the value of each cell.",
        "End the cell with a semicolon; %reset -f out lets go of what was kept.",
    ),
    "optimizer": (
        "The optimizer keeps state or parameters that the model does not have any "
        "more.",
        "Make a new optimizer after the model has changed.",
    ),
    "queue": (
        "It is filled faster than it is emptied.",
        "Bound it (maxsize=...), or log less often.",
    ),
    "traceback": (
        "An exception that is kept keeps the variables of all functions that it came "
        "through.",
        "Keep str(error), or call traceback.clear_frames(error.__traceback__).",
    ),
    "unknown": (
        "Something holds it that Python's collector does not know: atexit, a C++ "
        "object or another library.",
        "Look for atexit.register and for handles that were never closed.",
    ),
    "variable": (
        "It is made larger in each step.",
        "Write to memory of a fixed size, or keep a statistic.",
    ),
}
