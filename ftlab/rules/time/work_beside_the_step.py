"""The rule TIM002, work-beside-the-step.

## What it does
Finds work between two steps that takes a good part of the time: logging, saving,
evaluation, a callback, a metric, or a line of the loop; and names it.

## Why is this bad?
It comes again with each step, while the device has nothing to do. Nothing is learnt
wrongly.

## Evidence
The time of each step by phase, from step 4 on, 8 steps at least. Told where logging,
saving, or what is neither training nor any of these, takes 20 % of a step and 12 ms, or
where evaluations take as long as all training. A thread of ftlab looks at the training
thread's stack up to a hundred times a second: the line where it is met most often is
named. What has no line of the user's own in it is named by its library's function.
Measured: a Trainer's own work between two steps takes 3 to 8 ms, beside 25 ms of a
small model on a CPU; where no line has 40 % of it, it is not told.

## What to try
1. Do it every 50 steps: `logging_steps=`, `save_steps=`, `eval_steps=`.
2. Compute metrics on the device, from detached tensors, and bring back one number.
3. Save adapters only; evaluate on fewer rows, with `torch.no_grad()`.
4. Leave `gc.collect()` and `torch.cuda.empty_cache()` out of the loop.

## Known problems
Runs that are short because somebody tries something are told too: an evaluation after
ten steps of training takes longer than these.

## References
- PyTorch, "Performance Tuning Guide", avoid unnecessary CPU-GPU synchronization
- huggingface/transformers, `TrainerCallback`
"""

from ftlab.rules.reading.timing import NEEDS, StepTimes, at_line, step_times
from ftlab.rules.rule import Place, Results, Rule, Run
from ftlab.rules.words import at_steps

SHARES = {"logging": 0.2, "saving": 0.2, "evaluation": 0.5, "other": 0.2}
"""Part of all time from which a phase is told."""

LEAST = 0.012
"""Seconds of a step that it must take.

Measured on runs of the gallery, tiny models on a CPU: a Trainer's own work and that of
a plain loop between two steps take 3 to 8 ms, the latter on a crowded machine.
"""

_PLACES = {
    "logging": Place("config", "logging_steps"),
    "saving": Place("config", "save_steps"),
    "evaluation": Place("config", "eval_steps"),
}
_FIXES = {
    "logging": "Log every 50 steps (logging_steps=50), and less in each.",
    "saving": "Save less often (save_steps=), and only what is trained.",
    "evaluation": "Evaluate less often (eval_steps=), or on fewer rows.",
    "other": "Do it every 50 steps, or not on the training thread.",
}


class WorkBesideTheStep(Rule):
    """Finds what takes time between steps."""

    code = "TIM002"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding for each kind of work."""
        times = step_times(run)
        if times is None:
            return
        for phase, least in SHARES.items():
            if times.share(phase) >= least and times.seconds[phase] >= LEAST:
                yield from self._finding(times, phase, least)

    def _finding(self, times: StepTimes, phase: str, least: float) -> Results:
        place = times.hottest(phase)
        if phase == "other" and place is None:
            return  # a trainer's own work: nothing that its user could change
        called = "work between two steps" if phase == "other" else phase
        cause = f"There is much {called} for so few steps."
        places = [_PLACES[phase]] if phase in _PLACES else []
        if place is not None:
            cause = f"Most of it at {at_line(place)}."
            places += [Place("call", place.function), Place("call", place.place)]
        yield self.finding(
            times.severity(phase),
            f"{at_steps(*times.steps)}: {times.share(phase):.0%} of the time, "
            f"{1e3 * times.seconds[phase]:.0f} ms of a step, goes to {called}",
            cause=cause,
            fix=_FIXES[phase],
            places=places,
            steps=times.steps,
            evidence={
                "phase": phase,
                "share": times.share(phase),
                "threshold": least,
                "ms": 1e3 * times.seconds[phase],
                "step_ms": 1e3 * times.step,
            },
            healthy="steps follow each other at once",
        )
