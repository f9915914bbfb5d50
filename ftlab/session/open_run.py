"""`ftlab.open_run`: the same views over a finished, crashed or still growing run."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ftlab.records.finding import NotChecked
from ftlab.rules.engine import Engine
from ftlab.rules.words import counted
from ftlab.runlog.codec import finding_event
from ftlab.runlog.reader import open_log
from ftlab.runlog.run import Run
from ftlab.session.run_views import RunViews
from ftlab.views.dashboard.dashboard import Dashboard


class RecordedRun(RunViews):
    """A run log that was opened; made by `open_run`.

    The rules judge the recorded numbers anew once somebody asks what they say, so a
    log of last year profits from the rules of today. The folder is never written to.
    """

    def __init__(self, log: Run) -> None:
        self._log = log
        self._judged_version = -1
        self._not_checked: Sequence[NotChecked] = ()
        self._dashboard = Dashboard(log, lambda: self._not_checked)

    @property
    def run(self) -> Run:
        """The records, with what has been written since the last look."""
        self._log.refresh()
        return self._log

    @property
    def dashboard(self) -> Dashboard:
        """All views on one screen."""
        return self._dashboard

    def _bring_up_to_date(self) -> None:
        self._log.refresh()

    def _judge(self) -> None:
        run = self.run
        if self._judged_version == run.version:
            return
        report = Engine().check(run)
        for finding in report.findings:
            run.append(finding_event(finding, time.time()))
        self._not_checked = report.not_checked
        self._judged_version = run.version

    def __repr__(self) -> str:
        run = self.run
        ended = run.meta.get("ended") or "still running, or killed"
        words = counted(len(run.steps), "step"), counted(len(self.findings), "finding")
        return f"RecordedRun({', '.join(words)}, {ended})"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        self._judge()
        return self.dashboard._repr_mimebundle_(**options)


def open_run(path: str | Path, *, rank: int = 0, follow: bool = False) -> RecordedRun:
    """Open a run log.

    Parameters
    ----------
    path
        The run's folder, as `ftlab.watch` printed it.
    rank
        Which process of a distributed run to look at.
    follow
        Read what the run adds whenever a view is taken.

    Returns
    -------
    RecordedRun
        With the views of a live watch: ``gradients``, ``lora``, ``loss``, ``memory``,
        ``schedule``, ``clipping``, ``scaler``, ``updates``, ``moments``, ``logits``,
        ``findings``.

    Raises
    ------
    RunFolderError
        The folder is no run, or has no such rank.
    BadValueError
        ``path`` is no path.
    SchemaError
        The run was written by a newer ftlab.

    Examples
    --------
    >>> import ftlab
    >>> ftlab.open_run("runs/never-made")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.RunFolderError: ...
    """
    return RecordedRun(open_log(path, rank=rank, follow=follow))
