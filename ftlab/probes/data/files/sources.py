"""What a dataset is read from: files by their names, or rows in memory."""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ftlab.probes.data.files.arrow_files import arrow_rows, parquet_file, parquet_rows
from ftlab.probes.data.files.entries import Broken, Entry, Source
from ftlab.probes.data.files.json_files import array_of, is_array, lines_of
from ftlab.probes.data.files.memory_rows import in_memory
from ftlab.records.errors import BadValueError

JSON = (".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz")
ENDINGS = (*JSON, ".parquet", ".arrow")
"""How the names of files end that can be read."""

_NO_DATA = ("dataset_info.json", "state.json", "dataset_dict.json")
"""What ``save_to_disk`` writes beside the rows."""

FEW = 50
"""Elements of a list in which names of files are looked for among rows."""


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
    >>> from ftlab.probes.data.files.sources import sources_of
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
        return _told_apart(_of_several(list(map(os.fspath, what))))
    _check_unmixed(what)
    return [in_memory(what)]


def _are_paths(what: Any) -> bool:
    """Tell whether a list holds names of files, not texts."""
    if not isinstance(what, list | tuple) or not what:
        return False
    return all(
        isinstance(each, os.PathLike)
        or (isinstance(each, str) and each.endswith(ENDINGS))
        for each in what
    )


def _check_unmixed(what: Any) -> None:
    """Refuse a list of names in which some are none: their rows would be missing."""
    if not isinstance(what, list | tuple):
        return
    first = what[:FEW]
    other: Any = next((e for e in first if isinstance(e, os.PathLike)), None)
    if other is None and len(first) == len(what):  # texts may end like a name
        names = (each for each in first if isinstance(each, str))
        other = next((each for each in names if each.endswith(ENDINGS)), None)
    if other is not None:
        msg = (
            f"The list holds {str(other)[:200]!r}, the name of a file, and what is "
            f"none; pass only names that end in {', '.join(ENDINGS)}, or only rows."
        )
        raise BadValueError(msg)


def _of_path(path: str) -> list[Source]:
    kind = _kind_of(path)
    if stat.S_ISDIR(kind):
        return _of_folder(path)
    if not stat.S_ISREG(kind):
        msg = f"{path} is no file: rows are read from files that can be read twice."
        raise BadValueError(msg)
    return [_of_file(path)]


def _of_folder(path: str) -> list[Source]:
    errors: list[OSError] = []
    found = sorted(_files_below(path, errors.append))
    lost = [_lost(str(error.filename), str(error)) for error in errors]
    if not found and not lost:
        msg = f"{path} holds no file that ends in {', '.join(ENDINGS)}."
        raise BadValueError(msg)
    return _told_apart(_of_several(found) if found else [], path) + lost


def _told_apart(sources: list[Source], folder: str = "") -> list[Source]:
    """Name files by their folders where several have the same name."""
    names = Counter(source.name for source in sources)
    return [
        replace(source, name=_within(source.path, folder))
        if names[source.name] > 1 and source.path
        else source
        for source in sources
    ]


def _within(path: str, folder: str) -> str:
    return os.path.relpath(path, folder) if folder else path


def _of_several(paths: list[str]) -> list[Source]:
    """Open files; one that cannot be read does not keep the others from being read."""
    if len(paths) == 1:
        return _of_path(paths[0])
    found: list[Source] = []
    for path in paths:
        try:
            found += _of_path(path)
        except BadValueError as error:
            found.append(_lost(path, str(error).rstrip(".")))
    return found


def _lost(path: str, says: str) -> Source:
    entry = Entry(0, Broken(says))
    return Source(Path(path).name, "row", partial(iter, (entry,)))


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


def _files_below(path: str, failed: Callable[[OSError], None]) -> Iterator[str]:
    for folder, _, names in os.walk(path, onerror=failed):  # follows no links: it ends
        for name in names:
            if name.endswith(ENDINGS) and name not in _NO_DATA:
                yield str(Path(folder, name))


def _of_file(path: str) -> Source:
    name = Path(path).name
    if name.endswith(JSON):
        if is_array(path):
            return _reading(path, array_of, "json array")
        return _reading(path, lines_of, "json lines", unit="line")
    if name.endswith(".parquet"):
        with parquet_file(path) as file:
            rows = file.metadata.num_rows
        return _reading(path, parquet_rows, "parquet", rows)
    if name.endswith(".arrow"):
        return _reading(path, arrow_rows, "arrow")
    msg = (
        f"{path}: files are known by their names, which end in {', '.join(ENDINGS)}. "
        "datasets.load_dataset reads others: ftlab.data(load_dataset('csv', "
        "data_files=..., split='train'), tokenizer)."
    )
    raise BadValueError(msg)


def _reading(
    path: str,
    read: Callable[[str], Iterator[Entry]],
    form: str,
    total: int | None = None,
    unit: str = "row",
) -> Source:
    """Return a file that is named where it cannot be opened when its turn comes."""

    def entries() -> Iterator[Entry]:
        try:
            yield from read(path)
        except (OSError, BadValueError) as error:
            says = f"cannot be read any more: {str(error).rstrip('.')}"
            yield Entry(0, Broken(says, rows=max(total or 1, 1)))

    return Source(Path(path).name, unit, entries, total, path, form)
