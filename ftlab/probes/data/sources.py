"""What a dataset is read from: files by their names, or rows in memory."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from ftlab.probes.data.arrow_files import arrow_rows, parquet_file, parquet_rows
from ftlab.probes.data.entries import Broken, Entry, Source
from ftlab.probes.data.json_arrays import array_of
from ftlab.probes.data.json_files import is_array, lines_of
from ftlab.records.errors import BadValueError

JSON = (".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz")
ENDINGS = (*JSON, ".parquet", ".arrow")
"""How the names of files end that can be read."""

_NO_DATA = ("dataset_info.json", "state.json", "dataset_dict.json")
"""What ``save_to_disk`` writes beside the rows."""

BATCH = 1000


def sources_of(what: Any) -> list[Source]:
    """Return what a dataset is read from.

    Parameters
    ----------
    what
        The name of a file or of a folder with files, several of these, a ``Dataset`` or
        ``IterableDataset`` of datasets, a list of rows, or anything else that can be
        gone through again and again.

    Raises
    ------
    BadValueError
        It is none of these, or a file cannot be read at all.

    Examples
    --------
    >>> from ftlab.probes.data.sources import sources_of
    >>> (source,) = sources_of([{"text": "a"}])
    >>> list(source.read()), source.total
    ([Entry(at=0, value={'text': 'a'})], 1)
    >>> sources_of("rows.csv")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: rows.csv does not exist; ...
    """
    if isinstance(what, str | os.PathLike):
        return _of_path(os.fspath(what))
    if _are_paths(what):
        return _of_several(list(map(os.fspath, what)))
    return [_in_memory(what)]


def _are_paths(what: Any) -> bool:
    return (
        isinstance(what, list | tuple)
        and bool(what)
        and all(isinstance(each, os.PathLike) for each in what)
    ) or (_are_names(what))


def _are_names(what: Any) -> bool:
    """Tell whether strings are names of files, not texts."""
    if not isinstance(what, list | tuple) or not what:
        return False
    return all(isinstance(each, str) and each.endswith(ENDINGS) for each in what)


def _of_path(path: str) -> list[Source]:
    kind = _kind_of(path)
    if stat.S_ISDIR(kind):
        found = sorted(_files_below(path))
        if not found:
            msg = f"{path} holds no file that ends in {', '.join(ENDINGS)}."
            raise BadValueError(msg)
        return _of_several(found)
    if not stat.S_ISREG(kind):
        msg = f"{path} is no file: rows are read from files that can be read twice."
        raise BadValueError(msg)
    return [_of_file(path)]


def _of_several(paths: list[str]) -> list[Source]:
    """Open files; one that cannot be read does not keep the others from being read."""
    if len(paths) == 1:
        return _of_path(paths[0])
    found: list[Source] = []
    for path in paths:
        try:
            found += _of_path(path)
        except BadValueError as error:
            lost = Entry(0, Broken(str(error).rstrip(".")))
            found.append(Source(Path(path).name, "row", partial(iter, (lost,))))
    return found


def _kind_of(path: str) -> int:
    try:
        return Path(path).stat().st_mode
    except FileNotFoundError:
        beside = " (a link to what is not there)" if Path(path).is_symlink() else ""
        msg = (
            f"{path} does not exist{beside}; pass the name of a file that ends in "
            f"{', '.join(ENDINGS)}, or rows."
        )
    except (OSError, ValueError) as error:  # a loop of links, a name with a zero byte
        msg = f"{path[:200]!r} cannot be opened: {error}."
    raise BadValueError(msg)


def _files_below(path: str) -> Iterator[str]:
    for folder, _, names in os.walk(path):  # follows no links, so it ends
        for name in names:
            if name.endswith(ENDINGS) and name not in _NO_DATA:
                yield str(Path(folder, name))


def _of_file(path: str) -> Source:
    name = Path(path).name
    if name.endswith(JSON):
        if is_array(path):
            return Source(
                name, "row", partial(array_of, path), None, path, "json array"
            )
        return Source(name, "line", partial(lines_of, path), None, path, "json lines")
    if name.endswith(".parquet"):
        with parquet_file(path) as file:
            rows = file.metadata.num_rows
        return Source(name, "row", partial(parquet_rows, path), rows, path, "parquet")
    if name.endswith(".arrow"):
        return Source(name, "row", partial(arrow_rows, path), None, path, "arrow")
    msg = (
        f"{path}: files are known by their names, which end in {', '.join(ENDINGS)}. "
        "datasets.load_dataset reads others: ftlab.data(load_dataset('csv', "
        "data_files=..., split='train'), tokenizer)."
    )
    raise BadValueError(msg)


def _in_memory(what: Any) -> Source:
    if isinstance(what, pa.Table):
        return Source("", "row", partial(_numbered, what.to_pylist), len(what))
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
    return Source("", "row", read, len(what), count=partial(len, what))


def _check_iterable(what: Any) -> None:
    kind = type(what).__name__
    if isinstance(what, Iterator):
        msg = (
            f"The dataset is a {kind}, which gives each row once: pass a list of its "
            "rows, the name of their file, or a datasets.IterableDataset."
        )
        raise BadValueError(msg)
    by_number = hasattr(what, "__getitem__") and hasattr(what, "__len__")
    if isinstance(what, bytes) or not (by_number or isinstance(what, Iterable)):
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


def _of_table(dataset: Any) -> Iterator[Entry]:
    """Read a ``Dataset`` in batches, as Python values, without decoding pictures."""
    number = 0
    for table in dataset.with_format("arrow").iter(batch_size=BATCH):
        for row in table.to_pylist():
            yield Entry(number, row)
            number += 1


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
