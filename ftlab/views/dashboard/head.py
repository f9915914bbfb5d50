"""The dashboard's head line: where the run is, in one line of words."""

import numpy as np

from ftlab.records.sizes import size
from ftlab.runlog.run import Run
from ftlab.views.findings.findings_words import counted
from ftlab.views.steps.time import BESIDE, seconds_of, shares_of
from ftlab.views.style import number

TOLD = 0.1
"""Part of the time from which the head line names what takes it."""

RECENT = 50
"""Steps from whose median duration the remaining time is told."""


def head_of(run: Run, state: str) -> str:
    """Return state, step, loss, speed, memory, time left and number of findings."""
    words = [state] if state else []
    words.append(_step(run))
    latest = (
        ("loss", _last(run, "loss"), number),
        (
            "",
            _last(run, "tokens_per_second"),
            lambda value: f"{number(value)} tokens/s",
        ),
        ("memory", _last(run, "rss"), size),
        ("CUDA", _last(run, "cuda_peak"), size),
    )
    words += [
        f"{name} {show(value)}".strip()
        for name, value, show in latest
        if value is not None
    ]
    words += _waits(run)
    left = seconds_left(run)
    words += [f"{duration(left)} left"] if left is not None else []
    words.append(counted(run.findings) or "no findings")
    return "  ·  ".join(words)


def _waits(run: Run) -> list[str]:
    """Return what takes most of the time beside the model, where it is a good part."""
    beside = [(v, e) for e, v in shares_of(run).items() if e in BESIDE]
    share, phase = max(beside, default=(0.0, ""))
    if share < TOLD:
        return []
    if phase == "ftlab":  # the share alone frightens where steps are short
        own = 1e3 * float(np.nanmean(seconds_of(run, phase)))
        return [f"ftlab takes {number(own)} ms of a step, {share:.0%} (see .cost)"]
    what = "waiting for data" if phase == "data" else phase
    return [f"{what} takes {share:.0%} of the time"]


def _step(run: Run) -> str:
    if run.last_step < 0:
        return "no step yet"
    planned = _planned(run)
    return f"step {run.last_step}" + (f" of {planned}" if planned else "")


def _planned(run: Run) -> int:
    value = run.facts.training.get("max_steps", 0)
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def _last(run: Run, name: str) -> float | None:
    steps = run.steps
    known = steps.known(name)
    return float(steps[name][known][-1]) if known.any() else None


def seconds_left(run: Run) -> float | None:
    """Return the median duration of recent steps times the steps that are planned."""
    planned, steps = _planned(run), run.steps
    left = planned - (run.last_step + 1)
    if not planned or left <= 0:
        return None
    seconds = steps["seconds"][-RECENT:]
    seconds = seconds[np.isfinite(seconds)]
    return float(np.median(seconds)) * left if len(seconds) else None


def duration(seconds: float) -> str:
    """Write a duration in its two largest units.

    Examples
    --------
    >>> from ftlab.views.dashboard.head import duration
    >>> duration(42), duration(605), duration(7500)
    ('42 s', '10 min 5 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
