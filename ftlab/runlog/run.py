"""A run in memory: what rules and views read, whether it is live or recorded.

Who calls whom: one thread appends (the session's background thread, or the reader of a
folder); any number of threads read. A step's own row is appended **last**, after its
blocks, ledger entries and values: only then do readers see anything of the step.
"""

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.finding import Finding
from ftlab.records.names import NameRecord
from ftlab.records.step import Evaluation, LedgerEntry
from ftlab.runlog.folder import rank_folder, ranks
from ftlab.runlog.journal import Findings, merge_finding
from ftlab.runlog.matrix import PARTS, Bounds, Matrix, Wanted, assemble
from ftlab.runlog.memo import Memo
from ftlab.runlog.outline import outline
from ftlab.runlog.steps import StepTable
from ftlab.runlog.store import BUDGET, Archive, Store, Stored

T = TypeVar("T")


class Run:
    """A run: its steps, block tables, names, events, facts and findings.

    Parameters
    ----------
    path
        The folder it is logged to; ``None`` for a run that lives in memory only.
    meta
        What ``run.json`` says: versions, configuration, how it ended.
    rank
        Which of the folder's ranks this is.
    budget
        Bytes of block tables to keep in memory. Older rows are kept as roll-ups, and
        read from the folder when there is one.

    See Also
    --------
    ftlab.runlog.reader.open_log : Opens a recorded or a growing run.

    Notes
    -----
    One thread appends, any number read. The row of a step is appended after everything
    else of that step: it is what makes the step visible. A run without any step row
    shows all its blocks, unless probes are still writing to it. Two looks at a growing
    run may differ by a step; ``window(0)`` gives one that holds still.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.step import Block, StepRecord
    >>> from ftlab.runlog.run import Run
    >>> run = Run()
    >>> ids = np.arange(2, dtype=np.int32)
    >>> norms = np.array([0.5, float("inf")], dtype=np.float32)
    >>> run.append(Block("tensors", 0, ids, {"grad_l2": norms}))
    >>> run.append(StepRecord(step=0, time=0.0, loss=2.5))
    >>> run.matrix("grad_l2").values
    array([[0.5, inf]], dtype=float32)
    >>> run.matrix("grad_l1")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.UnknownNameError: Table 'tensors' has no column 'grad_l1'; \
near ones are 'grad_l2', 'grad_max', 'grad_l2_after'.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        meta: Mapping[str, Any] | None = None,
        *,
        rank: int = 0,
        budget: int = BUDGET,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.rank = rank
        self._store = Store(budget)
        self._store.archive = None if self.path is None else _archive(self.path, rank)
        self._store.meta.update(meta or {})
        self._adders = self._store.adders()
        self._bounds: tuple[int, int | None] = (0, None)
        self._memo = Memo()

    def __repr__(self) -> str:
        codes = (finding.code for finding in self.findings)
        ended = self.meta.get("ended")
        return outline(self.steps, self.tables(), codes, self.path, ended)

    def append(self, record: Stored) -> None:
        """Add a record; the step's own row comes last."""
        with self._store.lock:
            self._adders[type(record)](record)
            self._store.version += 1

    def keep_in(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Say where the run is logged from now on; for a run that was empty so far."""
        self.path = path
        self._store.archive = _archive(path, self.rank)
        self._store.meta.update(meta)

    def follow(self, refresh: Callable[[], bool]) -> None:
        """Call ``refresh`` whenever somebody wants to know what is new."""
        self._store.refresh = refresh

    def refresh(self) -> bool:
        """Read what the folder has got since the last time; True when it grew.

        Does nothing unless the run was opened with ``follow=True``.
        """
        return self._store.refresh()

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that log to the folder; only this one without a folder."""
        return (self.rank,) if self.path is None else ranks(self.path)

    @property
    def meta(self) -> Mapping[str, Any]:
        """What ``run.json`` says."""
        return MappingProxyType(self._store.meta)

    def update_meta(self, values: Mapping[str, Any]) -> None:
        """Replace entries of `meta`, ``{"ended": "finished"}`` for instance."""
        self._store.meta.update(values)

    @property
    def version(self) -> int:
        """Grows with every record: equal versions are equal runs."""
        return self._store.version

    @property
    def last_step(self) -> int:
        """The last step that is complete; -1 when there is none."""
        return self._stop() - 1

    @property
    def late(self) -> int:
        """How much came when the row of its step was there, or never would be."""
        return self._store.late

    def _stop(self) -> int:
        """Return the step before which everything is visible."""
        steps, stop = self._store.steps, self._bounds[1]
        if steps.count:
            visible = int(steps.step[steps.count - 1]) + 1
        elif self._store.awaits_rows:
            visible = 0
        else:
            tables = tuple(self._store.tables.values())
            visible = max((table.last_step for table in tables), default=-1) + 1
        return visible if stop is None else min(visible, stop)

    def window(self, start: int, stop: int | None = None) -> "Run":
        """Return a look at the steps in ``[start, stop)`` that holds still.

        Without ``stop`` it ends with the last step that is complete now.
        """
        last = self._stop() if stop is None else min(stop, self._stop())
        return self._look(max(start, self._bounds[0]), last)

    @property
    def whole(self) -> "Run":
        """The run from its first step on, to the end of this window."""
        return self._look(0, self._bounds[1])

    def _look(self, start: int, stop: int | None) -> "Run":
        view = object.__new__(type(self))
        view.path, view.rank = self.path, self.rank
        view._store, view._adders = self._store, self._adders
        view._bounds, view._memo = (start, stop), Memo()
        return view

    def _within(self, step: int) -> bool:
        start, stop = self._bounds
        return step >= start and (stop is None or step < stop)

    @property
    def steps(self) -> StepTable:
        """The rows of the steps, as they are now."""
        return self._once("steps", lambda: StepTable(self._store.steps, *self._bounds))

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        return self._memo.get(self.version, key, make)

    def tables(self) -> tuple[str, ...]:
        """Names of the block tables that have rows."""
        return tuple(self._store.tables)

    def columns(self, table: str = "tensors") -> tuple[str, ...]:
        """Names of the columns that ``table`` has recorded so far."""
        found = self._store.tables.get(table)
        return () if found is None else tuple(found.columns)

    def names(self, table: str = "tensors") -> dict[int, NameRecord]:
        """Return the latest name of each row of ``table``, by id."""
        journal, stop = self._store.journal, self._bounds[1]
        key = "names", table
        return self._once(key, lambda: journal.names_until(table, stop)).copy()

    def matrix(
        self,
        column: str,
        table: str = "tensors",
        *,
        start: int = 0,
        stop: int | None = None,
        resolution: int = 1,
    ) -> Matrix:
        """Return one column of a block table over steps and rows.

        Every step of the table is a line, also where this column was not measured; see
        `Matrix.measured`. A standard column that was never recorded gives an unknown
        matrix, any other name an `UnknownNameError`.

        Parameters
        ----------
        start, stop
            Half-open range of steps.
        resolution
            1 for raw rows; 64 or 4096 for roll-ups, whose windows overlap the range.
        """
        last = self._stop() if stop is None else min(stop, self._stop())
        bounds = max(start, self._bounds[0]), last

        def read() -> Matrix:
            return self.matrices({column: PARTS}, table, bounds, resolution)[column]

        whole = self._bounds[1] is None  # which may be too much to keep
        key = column, table, bounds, resolution
        return read() if whole else self._once(key, lambda: read().sealed())

    def matrices(
        self, columns: Wanted, table: str, bounds: Bounds, resolution: int
    ) -> dict[str, Matrix]:
        """Read columns of a table together, each as `matrix` does; nothing is kept."""
        bounds = max(bounds[0], self._bounds[0]), min(bounds[1], self._stop())
        found = [self._store.holds(column, table) for column in columns]
        if not found or found[0] is None:
            return {column: assemble(()) for column in columns}
        return found[0].matrices(columns, bounds, resolution, self._store.archive)

    @property
    def facts(self) -> Facts:
        """The latest facts; empty ones when nothing was read."""
        history = self.facts_history
        return history[-1] if history else Facts()

    @property
    def facts_history(self) -> Sequence[Facts]:
        """All facts, in the order in which they were read."""
        journal, stop = self._store.journal, self._bounds[1]
        return list(self._once("facts", lambda: journal.facts_until(stop)))

    @property
    def ledger(self) -> Sequence[LedgerEntry]:
        """Operations of the latest steps, in order; -1 is a run without any step."""
        return list(self._once("ledger", self._ledger))

    def _ledger(self) -> Sequence[LedgerEntry]:
        last, (start, _) = self.last_step, self._bounds
        with self._store.lock:
            steps = tuple(self._store.journal.ledger.items())
        seen = (of for at, of in steps if at <= last and (at >= start or at < 0))
        return list(itertools.chain.from_iterable(seen))

    def ledger_of(self, step: int) -> list[LedgerEntry]:
        """Return the operations of one step, in order."""
        if not self._within(step):
            return []
        entries = self._store.journal.ledger.get(step)
        if entries is None and self._store.archive is not None:
            return self._store.archive.ledger(step)
        return list(entries or ())

    @property
    def events(self) -> Sequence[Event]:
        """Everything that was said about the run."""
        events = tuple(self._store.journal.events)
        return [event for event in events if self._within(event.step)]

    @property
    def evaluations(self) -> Sequence[Evaluation]:
        """Results of evaluations; one after 8 steps belongs to step 7."""
        entries = tuple(self._store.journal.evaluations)
        return [entry for entry in entries if self._within(max(entry.step - 1, 0))]

    @property
    def findings(self) -> list[Finding]:
        """Findings, each once, with the first and the last step it was seen at."""
        if self._bounds == (0, None):
            with self._store.lock:
                return list(self._store.journal.findings.values())
        findings: Findings = {}
        for event in self.events:
            if event.kind == "finding":
                merge_finding(findings, event)
        return list(findings.values())


def _archive(path: Path, rank: int) -> Archive:
    from ftlab.runlog.archive import FolderArchive  # a run in memory needs no pyarrow

    return FolderArchive(rank_folder(path, rank))
