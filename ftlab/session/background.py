"""The background thread of a run: records in, log and findings out.

The training thread only puts records into a queue. This thread, ``ftlab-log``, appends
them to the in-memory `Run` and writes them, tells listeners (the dashboard) at most
five times a second, and gives commits and the rules a bounded share of the time.
Whatever fails here becomes one warning; nothing reaches the training thread.
"""

import contextvars
import queue
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ftlab.records.errors import FtlabWarning
from ftlab.records.event import Event
from ftlab.records.finding import Finding, NotChecked
from ftlab.records.step import StepRecord
from ftlab.rules.engine import Engine
from ftlab.runlog.codec import finding_event
from ftlab.runlog.run import Run
from ftlab.runlog.writer import LogWriter

RULES_SHARE = 0.003
"""Share of one core that the rules may take while training runs.

They take 3 to 10 ms for a window, so they speak every one to three seconds; at 1 % they
were half of what watching costs (``make bench``, LoRA).
"""

RULES_BUDGET = 0.02
"""Seconds that the rules may take at a time."""

REFRESH_SECONDS = 0.2
"""Least time between two calls of the listeners: 5 Hz."""

COMMIT_SECONDS = 0.2, 1.0
"""Least and most between two commits; the latter is what a killed process loses."""

COMMIT_SHARE = 0.003
"""Share of one core that commits may take within these bounds.

One takes 3 to 5 ms, whatever the number of steps in it: five times a second they were
a third of what watching costs (24 layers of 64, LoRA).
"""

_STOP = object()


class _Mark:
    """Put into the queue by a caller who waits until all before it is done."""

    def __init__(self, *, judge: bool) -> None:
        self.judge = judge
        self.done = threading.Event()


class Background:
    """Owns the queue and the thread of one run.

    Parameters
    ----------
    run
        The in-memory run that views and rules read; only this thread appends to it.
    writer
        Where records are kept, or ``None`` for a run in memory only.
    engine
        The rules.
    """

    def __init__(self, run: Run, writer: LogWriter | None, engine: Engine) -> None:
        self.run = run
        self.writer = writer
        self.engine = engine
        self.listeners: list[Callable[[], None]] = []
        self.not_checked: Sequence[NotChecked] = ()
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._known: dict[Any, Finding] = {}
        self._next_rules = 0.0
        self._next_refresh = 0.0
        self._next_commit = 0.0
        self._whole = False
        self._ended = "detached"
        self.thread: threading.Thread | None = None

    def put(self, record: Any) -> None:
        """Queue a record; called from the training thread, never blocks."""
        self._queue.put(record)

    def start(self) -> None:
        """Start the thread, with the caller's context variables.

        ipykernel before 7.1 needs them to route widget messages (ipykernel#1450).
        """
        context = contextvars.copy_context()
        self.thread = threading.Thread(
            target=context.run, args=(self._work,), name="ftlab-log", daemon=True
        )
        self.thread.start()

    def flush(self, timeout: float = 60.0) -> bool:
        """Wait until every record queued so far is logged and judged by the rules.

        Returns
        -------
        bool
            False when the time was not enough.
        """
        return self._wait(_Mark(judge=True), timeout)

    def drain(self, timeout: float = 60.0) -> bool:
        """Wait until every record queued so far is logged; the rules keep pace."""
        return self._wait(_Mark(judge=False), timeout)

    def _wait(self, mark: _Mark, timeout: float) -> bool:
        idle = self.thread is None or not self.thread.is_alive()
        if idle or threading.current_thread() is self.thread:
            return True
        self._queue.put(mark)
        return mark.done.wait(timeout)

    def stop(self, ended: str) -> None:
        """Handle what is queued, judge the whole run, close the log, end the thread."""
        thread, self.thread = self.thread, None
        if thread is None:
            return
        self._ended = ended
        self._queue.put(_STOP)
        if threading.current_thread() is not thread:
            thread.join()

    def _work(self) -> None:
        while True:
            try:
                item = self._queue.get(timeout=REFRESH_SECONDS)
            except queue.Empty:
                item = None
            while item is not None and item is not _STOP:
                self._handle(item)
                item = None if self._queue.empty() else self._queue.get()
            self._guard("the run log", self._commit)
            if item is _STOP:
                self._guard("the end of the run", self._finish)
                return
            self._guard("the rules", self._judge)
            self._guard("the dashboard", self._tell)

    def _handle(self, item: Any) -> None:
        if isinstance(item, _Mark):
            self._guard("the run log", lambda: self._commit(now=True))
            if item.judge:
                self._guard("the rules", self._judge_all)
            item.done.set()
            return
        self._guard("the run log", lambda: self._log(item))

    def _log(self, record: Any) -> None:
        if isinstance(record, Finding):
            self.engine.hear(record)
            return
        self.run.append(record)
        if self.writer is not None:
            self.writer.write(record)
            self._whole = isinstance(record, StepRecord | Event)
            if self._whole:
                self._commit(now=isinstance(record, Event))

    def _commit(self, *, now: bool = False) -> None:
        """Hand to the operating system what was written since the last time."""
        now = now or (self._whole and time.monotonic() >= self._next_commit)
        if self.writer is not None and now:
            began, (least, most) = time.thread_time(), COMMIT_SECONDS
            self.writer.commit()
            rest = (time.thread_time() - began) / COMMIT_SHARE
            self._next_commit = time.monotonic() + min(max(rest, least), most)

    def _judge(self) -> None:
        if time.monotonic() < self._next_rules:
            return
        began = time.thread_time()
        report = self.engine.tick(self.run, budget_s=RULES_BUDGET)
        self.not_checked = report.not_checked
        self._keep(report.findings)
        spent = time.thread_time() - began
        self._next_rules = time.monotonic() + spent / RULES_SHARE

    def _judge_all(self) -> None:
        report = self.engine.finish(self.run)
        self.not_checked = report.not_checked
        self._keep(report.findings)

    def _keep(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            if self._known.get(finding.key) == finding:
                continue
            self._known[finding.key] = finding
            self._log(finding_event(finding, time.time()))

    def _tell(self, *, now: bool = False) -> None:
        if not now and time.monotonic() < self._next_refresh:
            return
        self._next_refresh = time.monotonic() + REFRESH_SECONDS
        for listener in tuple(self.listeners):
            listener()

    def _finish(self) -> None:
        self.run.update_meta({"ended": self._ended})
        self._judge_all()
        if self.writer is not None:
            self.writer.close(self._ended)
        self._tell(now=True)

    def _guard(self, what: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  the one boundary of this thread
            msg = f"{what} failed with {type(error).__name__}: {error}"
            warnings.warn(msg, FtlabWarning, stacklevel=2)
