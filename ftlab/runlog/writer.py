"""Writes a run to its folder, so that what was committed survives anything.

Who calls whom: the session's background thread calls `LogWriter.write` for each record
and `LogWriter.commit` after each step. A commit hands every file its new bytes with one
``write``; the step's own row goes last, so a reader that sees it finds all the rest.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ftlab.records.errors import FtlabWarning
from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, Column, Evaluation, LedgerEntry, StepRecord
from ftlab.runlog import folder
from ftlab.runlog.codec import to_json
from ftlab.runlog.files import RankFiles
from ftlab.runlog.schema import VERSION
from ftlab.runlog.segment import Limits
from ftlab.runlog.store import Record


class LogWriter:
    """The log of one rank; made by `LogWriter.create`, ended by `LogWriter.close`.

    Attributes
    ----------
    path
        The run's folder.
    last_committed_step
        Everything up to this step survives a kill; -1 before the first one.
    broken
        The error that ended logging (a full disk), or None.

    Examples
    --------
    >>> import tempfile
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.reader import open_log
    >>> from ftlab.runlog.writer import LogWriter
    >>> with tempfile.TemporaryDirectory() as base:
    ...     writer = LogWriter.create(base + "/run", config={"lr": 1e-4})
    ...     writer.write(StepRecord(step=0, time=0.0, loss=2.5))
    ...     writer.commit()
    ...     writer.close("finished")
    ...     run = open_log(base + "/run")
    >>> run.steps["loss"], run.meta["ended"]
    (array([2.5]), 'finished')
    """

    def __init__(
        self, path: Path, rank: int, meta: dict[str, Any], limits: Limits
    ) -> None:
        self.path = path
        self.last_committed_step = -1
        self.broken: OSError | None = None
        self.meta = meta
        self._rank = rank
        self._closed = False
        self._step = -1
        self._files = RankFiles(folder.rank_folder(path, rank), limits)
        self._adders: dict[type, Callable[[Any], None]] = {
            StepRecord: self._files.steps.append,
            Block: self._files.add_block,
            NameRecord: lambda name: self._files.names.add(to_json(name)),
            LedgerEntry: self._files.ledger.append,
            Evaluation: self._files.evaluations.append,
            Facts: lambda facts: self._files.add_facts(to_json(facts)),
            Event: lambda event: self._files.add_event(event, to_json(event)),
        }

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        rank: int = 0,
        config: Mapping[str, Any],
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
        versions: Mapping[str, str] | None = None,
    ) -> "LogWriter":
        """Make the folder of a new run.

        Parameters
        ----------
        rank
            Rank 0 also writes ``run.json``.
        config
            What ``run.json`` shall say of the run; values that JSON can hold.
        limits
            Sizes of segments, and the disk budget.
        versions
            Versions of packages; by default those that are installed.

        Raises
        ------
        RunFolderError
            When the folder exists or cannot be written.
        """
        path = Path(path)
        meta = {
            "schema": VERSION,
            "started": clock(),
            "ended": None,
            "versions": dict(folder.versions() if versions is None else versions),
            "config": dict(config),
        }
        folder.create_folder(path, rank, meta)
        return cls(path, rank, meta, limits or Limits())

    def declare(self, table: str, columns: Iterable[Column]) -> None:
        """Say unit and meaning of columns that are not among the standard ones."""
        self._files.declare(table, columns)

    def write(self, record: Record) -> None:
        """Queue a record until the next `commit`."""
        if self.broken is None and not self._closed:
            self._adders[type(record)](record)
            if isinstance(record, StepRecord):
                self._step = record.step

    def commit(self) -> None:
        """Hand everything queued to the operating system."""
        if self.broken is None and not self._closed:
            self._guarded(self._files.commit)
            if self.broken is None:
                self.last_committed_step = self._step

    def close(self, ended: str) -> None:
        """Close all files for good; ``ended`` says how the run ended.

        Parameters
        ----------
        ended
            ``"finished"``, ``"failed: ..."``, ``"interrupted"`` or ``"detached"``.
        """
        self.commit()
        if self._closed:
            return
        self._closed = True
        if self.broken is None:
            self._guarded(self._files.close)
        self.meta["ended"] = ended
        if self._rank == 0 and self.broken is None:
            self._guarded(lambda: folder.write_meta(self.path, self.meta))

    def _guarded(self, write: Callable[[], None]) -> None:
        """Write; when that fails, warn once and log nothing from then on."""
        try:
            write()
        except OSError as error:
            self.broken = error
            self._files.release()
            msg = (
                f"Logging to {str(self.path)!r} stopped: {error}. Training goes on. "
                f"What was logged, up to step {self.last_committed_step}, can be "
                "opened; for the next run make room or pass run_dir='...'."
            )
            warnings.warn(msg, FtlabWarning, stacklevel=3)
