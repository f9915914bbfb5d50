"""Which anomalies a run has traces of, and the replay of one; torch is not needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ftlab.records.errors import BadValueError
from ftlab.runlog.folder import rank_folder
from ftlab.runlog.traces import read_trace, trace_folders

if TYPE_CHECKING:
    from ftlab.runlog.run import Run
    from ftlab.views.replay.replay import Replay

HOW = (
    "A trace is written where ftlab.debug stops at an anomaly while ftlab.watch logs "
    "the same model: start both, then dbg.run()."
)


def replay_of(run: Run, step: int | None, number: int) -> Replay:
    """Return the replay of an anomaly of ``run``.

    Raises
    ------
    BadValueError
        When there is none; the message lists those that there are.
    """
    from ftlab.views.replay.replay import Replay

    return Replay(read_trace(_chosen(run, step, number)))


def _chosen(run: Run, step: int | None, number: int) -> Path:
    name = "the run in memory" if run.path is None else repr(str(run.path))
    found = {} if run.path is None else trace_folders(rank_folder(run.path, run.rank))
    if not found:
        msg = f"replay({step}): {name} has no trace of an anomaly. {HOW}"
        raise BadValueError(msg)
    wanted = next(iter(found)) if step is None else step
    if wanted not in found:
        msg = (
            f"replay({step}): {name} has no trace of step {step}; there are traces of "
            f"{_listed(found)}. {HOW}"
        )
        raise BadValueError(msg)
    folders = found[wanted]
    if not 1 <= number <= len(folders):
        msg = (
            f"replay({wanted}, number={number}): step {wanted} has traces 1 to "
            f"{len(folders)}."
        )
        raise BadValueError(msg)
    return folders[number - 1]


def _listed(found: dict[int, list[Path]]) -> str:
    steps = [
        f"{step} ({len(folders)} of them)" if len(folders) > 1 else str(step)
        for step, folders in found.items()
    ]
    return f"step{'' if len(steps) == 1 else 's'} {', '.join(steps)}"
