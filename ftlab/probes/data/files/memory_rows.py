"""Rows in memory: lists, tables, data frames, and datasets of the user's own."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from ftlab.probes.data.files.arrow_files import values_of
from ftlab.probes.data.files.entries import Broken, Entry, Source
from ftlab.records.errors import BadValueError

BATCH = 1000
"""Rows of a table that are made Python values at once."""


def in_memory(what: Any) -> Source:
    """Return rows that are in memory, or that code of the user's gives.

    Raises
    ------
    BadValueError
        They cannot be gone through again and again.

    Examples
    --------
    >>> from ftlab.probes.data.files.memory_rows import in_memory
    >>> list(in_memory(["a"]).read())
    [Entry(at=0, value='a')]
    """
    if isinstance(what, pa.Table):
        return Source("", "row", partial(_of_arrow, what), len(what))
    if hasattr(what, "with_format") and hasattr(what, "features"):
        sized = hasattr(what, "__len__")
        read = partial(_of_table if sized else _of_stream, what)
        return Source("", "row", read, len(what) if sized else None)
    if hasattr(what, "to_dict") and hasattr(what, "columns"):  # a pandas DataFrame
        rows = partial(what.to_dict, orient="records")
        return Source("", "row", partial(_numbered, rows), len(what))
    _check_iterable(what)
    if isinstance(what, Sequence) or not hasattr(what, "__iter__"):
        return _counted(partial(_by_number, what), what)
    if hasattr(what, "__len__"):
        return _counted(partial(_of_stream, what), what)
    return Source("", "row", partial(_of_stream, what))


def _counted(read: Callable[[], Iterator[Entry]], what: Any) -> Source:
    try:
        total = len(what)
    except Exception as error:
        msg = (
            f"The dataset, of type {type(what).__name__}, has no length: {error}. Pass "
            "a list of its rows."
        )
        raise BadValueError(msg) from error
    return Source("", "row", read, total, count=partial(len, what))


def _check_iterable(what: Any) -> None:
    kind = type(what).__name__
    if isinstance(what, Iterator):
        msg = (
            f"The dataset is a {kind}, which gives each row once: pass a list of its "
            "rows, the name of their file, or a datasets.IterableDataset."
        )
        raise BadValueError(msg)
    by_number = hasattr(what, "__getitem__") and hasattr(what, "__len__")
    if isinstance(what, bytes | type) or not (by_number or isinstance(what, Iterable)):
        msg = (
            f"The dataset is {what if what is None else f'of type {kind}'}; pass the "
            "name of a file (JSON Lines, JSON, Parquet, Arrow), a Dataset, or a list "
            "of rows: ftlab.data([{'messages': [...]}], tokenizer)."
        )
        raise BadValueError(msg)
    if isinstance(what, Mapping):
        msg = (
            f"The dataset is a {kind} with {', '.join(map(str, list(what)[:5]))}; a "
            "single row goes as [row], columns as datasets.Dataset.from_dict(columns)."
        )
        raise BadValueError(msg)


def _of_arrow(table: pa.Table) -> Iterator[Entry]:
    return _numbered(
        lambda: (row for batch in table.to_batches(BATCH) for row in values_of(batch))
    )


def _of_table(dataset: Any) -> Iterator[Entry]:
    """Read a ``Dataset`` in batches, as Python values, without decoding pictures."""
    return _of_stream(
        row
        for table in dataset.with_format("arrow").iter(batch_size=BATCH)
        for row in values_of(table)
    )


def _numbered(rows: Any) -> Iterator[Entry]:
    for number, row in enumerate(rows()):
        yield Entry(number, row)


def _of_stream(rows: Any) -> Iterator[Entry]:
    """Read what may fail on the way: the rows up to there are known."""
    number = 0
    stream = iter(rows)
    while True:
        try:
            row = next(stream)
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001  the user's own dataset
            said = str(error).strip().partition("\n")[0]
            yield Entry(
                number, Broken(f"the dataset raised {type(error).__name__}: {said}")
            )
            return
        yield Entry(number, row)
        number += 1


def _by_number(rows: Any) -> Iterator[Entry]:
    for number in range(len(rows)):
        try:
            row = rows[number]
        except Exception as error:  # noqa: BLE001  the user's own dataset
            said = str(error).strip().partition("\n")[0]
            row = Broken(f"the dataset raised {type(error).__name__}: {said}")
        yield Entry(number, row)
