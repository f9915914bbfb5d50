"""A run in a few lines: what ``print(run)`` shows."""

from collections.abc import Iterable
from pathlib import Path

from ftlab.runlog.steps import StepTable


def outline(
    steps: StepTable,
    tables: Iterable[str],
    codes: Iterable[str],
    path: Path | None,
    ended: object,
) -> str:
    """Say how many steps there are, what the loss was, what was found, and where.

    Examples
    --------
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.run import Run
    >>> run = Run()
    >>> for step, loss in enumerate([2.5, 1.25]):
    ...     run.append(StepRecord(step, time=0.0, loss=loss))
    >>> run
    Run: 2 steps (0-1)
    loss: 2.5 at first, 1.25 at last
    tables: steps
    findings: none
    log: in memory only
    """
    lines = [f"Run: {_steps(steps)}"]
    loss = steps["loss"][steps.known("loss")]
    if len(loss):
        lines.append(f"loss: {loss[0]:.4g} at first, {loss[-1]:.4g} at last")
    lines.append(f"tables: {', '.join(['steps', *tables])}")
    lines.append(f"findings: {', '.join(dict.fromkeys(codes)) or 'none'}")
    where = "in memory only" if path is None else str(path)
    return "\n".join([*lines, f"log: {where}" + (f", {ended}" if ended else "")])


def _steps(steps: StepTable) -> str:
    step = steps.step
    if not len(step):
        return "no step yet"
    if len(step) == 1:
        return f"1 step ({step[0]})"
    return f"{len(step):,} steps ({step[0]}-{step[-1]})"
