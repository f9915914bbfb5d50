"""`ftlab.data`: every row of a dataset, before anything is trained on it."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.data.files.copying import write_copy
from ftlab.probes.data.files.entries import Source
from ftlab.probes.data.files.sources import sources_of
from ftlab.probes.tokens.untouched import untouched
from ftlab.records.errors import BadValueError
from ftlab.records.finding import Finding, Severity
from ftlab.rules.dataset_issues import check_kind
from ftlab.session.data_findings import findings_of
from ftlab.session.data_given import evaluation_of, name_of, splits_of
from ftlab.session.data_limits import limit_of
from ftlab.session.data_scanning import scan_sources
from ftlab.session.data_verdict import Asked, Judged
from ftlab.session.progress import progress_bar
from ftlab.views.data.data_report import DataView

_CHANGED = "The dataset has changed since it was scanned; scan it again."


class DataReport(DataView):
    """What is wrong with the rows of a dataset, and a copy without them.

    Parameters
    ----------
    judged
        What was found.
    sources
        What was read.

    Attributes
    ----------
    known
        What was counted, as a run's log keeps it.
    """

    def __init__(self, judged: Judged, sources: list[Source]) -> None:
        super().__init__(judged.scan)
        self._rows = judged.rows
        self.known = judged.known
        self._sources = sources
        self._stamps = judged.stamps

    @property
    def ok(self) -> bool:
        """Whether nothing is worse than a note, in rows that did not change."""
        worst = self.summary.worst
        return not self.summary.changed and (worst is None or worst < Severity.WARNING)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The same as the rules' findings, worst first: `ftlab.explain` has a page."""
        return findings_of(self.known)

    def rows(self, kind: str) -> NDArray[np.int64]:
        """Return the numbers of all rows with a kind of fault, in ascending order.

        Raises
        ------
        BadValueError
            It is no name.
        UnknownNameError
            There is no such kind.
        """
        _check_name(kind)
        check_kind(kind)
        return self._numbers(kind)

    def _numbers(self, kind: str) -> NDArray[np.int64]:
        known = self._rows.get(kind)
        return np.empty(0, np.int64) if known is None else known.numbers()

    def kept(self, drop: Iterable[str] | None = None) -> NDArray[np.int64]:
        """Return the rows without faults: ``dataset.select(report.kept())``.

        Parameters
        ----------
        drop
            Kinds of faults whose rows are left out; by default those that no repair
            brings back: ``issues`` that say ``left_out``.

        Raises
        ------
        UnknownNameError
            There is no such kind.
        """
        left = np.ones(self.summary.rows, bool)
        for kind in self._dropped(drop):
            left[self._numbers(kind)] = False
        return np.flatnonzero(left).astype(np.int64)

    def filtered(
        self, path: str | os.PathLike[str], drop: Iterable[str] | None = None
    ) -> int:
        """Write a copy without the rows that have faults; return how many it has.

        The dataset itself is never changed.

        Parameters
        ----------
        path
            A new file: ``.jsonl``; of Parquet and Arrow also ``.parquet``, ``.arrow``.
        drop
            As of `kept`.

        Raises
        ------
        BadValueError
            The file exists or cannot be written, or the dataset has changed.
        UnknownNameError
            There is no such kind.
        """
        kinds = self._dropped(drop)
        self._check_whole()
        self._check_same()
        sets = [self._rows[kind] for kind in kinds if kind in self._rows]
        with untouched():
            return write_copy(
                self._sources,
                os.fspath(path) if isinstance(path, os.PathLike) else path,
                lambda row: any(row in each for each in sets),
                self._check_same,
            )

    def _check_whole(self) -> None:
        msg = ""
        if not self.summary.complete:
            msg = "The scan was stopped before the end; scan the dataset again."
        elif self.summary.changed:
            names = ", ".join(self.summary.changed[:3])
            msg = f"{names} changed while it was read; scan the dataset again."
        if msg:
            raise BadValueError(msg)

    def _check_same(self) -> None:
        if self._stamps.changed():
            raise BadValueError(_CHANGED)

    def _dropped(self, drop: Iterable[str] | None) -> list[str]:
        if drop is None:
            return [issue.name for issue in self.summary.issues if issue.left_out]
        _check_names(drop)
        kinds = [drop] if isinstance(drop, str) else list(drop)
        for kind in kinds:
            self.rows(kind)
        return kinds


def _check_name(kind: object) -> None:
    if not isinstance(kind, str):
        msg = f"The kind of fault is {kind!r}; pass its name: 'empty-answer'."
        raise BadValueError(msg)


def _check_names(drop: object) -> None:
    if not isinstance(drop, Iterable):
        msg = f"drop={drop!r}; pass names of faults: ['empty-answer']."
        raise BadValueError(msg)


def data(
    dataset: Any,
    tokenizer: Any = None,
    *,
    evaluation: Any = None,
    max_length: int | None = None,
    near_duplicates: bool = True,
    processing_class: Any = None,
    progress: bool | None = None,
) -> DataReport:
    """Look at every row of a dataset: answers, roles, copies, encoding, lengths.

    Rows are read one after another, from a file if it is one: ten million take time,
    not memory. Ctrl-C ends the reading, and what was read until then is reported.

    Parameters
    ----------
    dataset
        The name of a file (JSON Lines, JSON, Parquet, Arrow) or of a folder, a
        ``Dataset``, ``IterableDataset`` or ``DatasetDict``, or a list of rows. Of a
        ``DatasetDict`` the split ``train`` is looked at, and the others are the
        evaluation data. Rows are conversations, prompts with answers, preferences,
        texts, texts beside a label, or ids of tokens; ``ftlab.explain("DAT057")`` has
        the names of their columns.
    tokenizer, processing_class
        Of the training, two spellings of the same argument; without it, lengths are in
        characters, and special tokens are not looked for.
    evaluation
        Rows that the training must not hold, given in the same ways.
    max_length
        Tokens behind which the training cuts a row off; by default what the tokenizer
        gives as the model's limit.
    near_duplicates
        Whether to look for rows that are almost the same. The texts of all rows are
        written into a temporary file for it.
    progress
        Whether to show a bar; by default in a notebook and in a terminal.

    Returns
    -------
    DataReport
        With ``issues()``, ``table()``, ``lengths()``, ``figure()``, ``widget()``,
        ``rows(kind)``, ``kept()`` and ``filtered(path)``.

    Raises
    ------
    BadValueError
        It cannot be read, or none of its rows can be understood.

    Examples
    --------
    >>> import ftlab
    >>> rows = [
    ...     {"prompt": "1+1?", "completion": "2"},
    ...     {"prompt": "2?", "completion": ""},
    ... ]
    >>> report = ftlab.data(rows)
    >>> report.issues()["message"].tolist()
    ['an empty answer: 1 of 2 rows (50 %)']
    >>> report.kept().tolist()
    [0]
    >>> ftlab.data(7)
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: The dataset is of type int; pass ...
    """
    known = tokenizer if tokenizer is not None else processing_class
    name = name_of(dataset)
    dataset, evaluation = splits_of(dataset, evaluation)
    sources = sources_of(dataset)
    asked = Asked(
        name,
        sources,
        known,
        [] if evaluation is None else evaluation_of(evaluation),
        *limit_of(max_length, known),
        near_duplicates,
    )
    total = _total(sources)
    with (
        untouched(),
        progress_bar("scanning", total, shown=progress) as tick,
        progress_bar("comparing", total, shown=progress) as tick_near,
    ):
        found = scan_sources(asked, tick, tick_near)
    return DataReport(found, sources)


def _total(sources: list[Source]) -> int | None:
    totals = [source.total for source in sources]
    return None if None in totals else sum(filter(None, totals))
