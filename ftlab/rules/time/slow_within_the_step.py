"""The rule TIM003, slow-within-the-step.

## What it does
Finds what makes a step itself slow without being part of the model: autograd's anomaly
detection left on, code that is compiled again and again, and a line of the loop that
waits for the device or collects garbage.

## Why is this bad?
The same training takes a multiple of its time. Nothing is learnt wrongly.

## Evidence
`torch.is_anomaly_enabled()` at each forward. And a thread of ftlab looks at the
training thread's stack up to a hundred times a second: told where 15 % of all looks,
20 at least, meet torch's compiler, and something was compiled in 4 steps after the
first 4; or where they meet a line of the user's own that calls one of
`gc.collect`, `empty_cache`, `synchronize`, `item`, `tolist`, `numpy`, `cpu`, `print`.
Measured on a Llama of 3 layers on a CPU: anomaly detection makes a forward 118 ms long
in place of 13, and a backward 20 in place of 9.

## What to try
1. Take `torch.autograd.set_detect_anomaly(True)` out again: `ftlab.debug` names the
   operation without it.
2. Give the compiled model batches of few shapes: `pad_to_multiple_of=`, or
   `torch.compile(dynamic=True)`; `TORCH_LOGS=recompiles` lists the guards.
3. Read numbers back once in 50 steps, and not in each layer.

## Known problems
A line that reads a number back waits for all work before it: on a GPU the time that it
is met there is the device's, not its own.

## References
- PyTorch, `torch.autograd.set_detect_anomaly` ("should be enabled only for debugging")
- PyTorch, "Dealing with recompilations"
"""

import ast
from collections.abc import Iterator

from ftlab.records.step_time import HotPlace
from ftlab.rules.reading.timing import (
    LEAST_SAMPLES,
    NEEDS,
    StepTimes,
    at_line,
    step_times,
)
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps

SHARE = 0.15
"""Part of all looks that must have met it."""

WAITING = frozenset(
    {"collect", "empty_cache", "synchronize", "item", "tolist", "numpy", "cpu", "print"}
)
"""Calls that take time without computing anything of the model."""

COMPILERS = ("torch._dynamo", "torch._inductor", "torch._functorch")
"""Packages that compile; they are met where compiled code runs, too."""

AGAIN = 4
"""Steps in which something must have been compiled.

A model that is compiled once was compiled in two: hooks of the first steps had gone.
"""


class SlowWithinTheStep(Rule):
    """Finds what slows steps down without being part of the model."""

    code = "TIM003"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding for each reason."""
        times = step_times(run)
        if times is None:
            return
        if times.sampled.anomaly:
            yield self._finding(
                times,
                "anomaly detection is on: each operation keeps its stack, and each "
                "gradient is searched for NaN",
                Place("call", "torch.autograd.set_detect_anomaly"),
                "torch.autograd.set_detect_anomaly(True) was called, or "
                "detect_anomaly() entered, and never undone.",
                "Take it out: ftlab.debug(...) stops at the op that makes a NaN.",
                {"reason": "anomaly"},
            )
        again = _compiles(run, times.steps)
        for reason, what, places, fix in _groups(times.sampled.places, again=again):
            met = sum(each.samples for each in places)
            share = met / times.sampled.samples
            if share < SHARE or met < LEAST_SAMPLES:
                continue
            first = max(places, key=lambda each: each.samples)
            place = "torch.compile" if reason == "compiling" else first.place
            yield self._finding(
                times,
                f"{share:.0%} of the time goes to {what}",
                Place("call", place),
                f"Most of it at {at_line(first)}.",
                fix,
                {"reason": reason, "share": share, "threshold": SHARE, "samples": met},
            )

    def _finding(
        self,
        times: StepTimes,
        says: str,
        place: Place,
        cause: str,
        fix: str,
        evidence: dict[str, float | int | str],
    ) -> Finding:
        return self.finding(
            Severity.WARNING if evidence["reason"] == "anomaly" else Severity.INFO,
            f"{at_steps(*times.steps)}: {says}",
            cause=cause,
            fix=fix,
            places=[place],
            steps=times.steps,
            evidence=evidence,
            healthy="a step is its model's forward, backward and update",
        )


def _compiles(run: Run, steps: tuple[int, int]) -> bool:
    """Tell whether anything was compiled in several of these steps."""
    table = run.steps
    if "compilations" not in table:
        return False
    inside = (table.step >= steps[0]) & (table.step <= steps[1])
    return int((table["compilations"][inside] > 0).sum()) >= AGAIN


def _groups(
    places: tuple[HotPlace, ...], *, again: bool
) -> Iterator[tuple[str, str, list[HotPlace], str]]:
    compiling = [each for each in places if each.library.startswith(COMPILERS)]
    if compiling and again:
        yield (
            "compiling",
            "compiling code again",
            compiling,
            "Give it batches of few shapes (pad_to_multiple_of=), or "
            "torch.compile(dynamic=True); TORCH_LOGS=recompiles lists the guards.",
        )
    lines: dict[str, list[HotPlace]] = {}
    for each in places:
        if each not in compiling and not each.library and _calls(each.line) & WAITING:
            lines.setdefault(each.place, []).append(each)
    for group in lines.values():
        what = "a line that reads back, prints or collects garbage"
        yield "waiting", what, group, "Do it once in 50 steps, or leave it out."


def _calls(line: str) -> set[str]:
    try:
        tree = ast.parse(line.rstrip(":"))
    except SyntaxError:  # part of a statement of several lines
        return set()
    return {
        node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
    }
