"""Traces of anomalous steps, each in a folder of its rank's log.

``anomalies/step-000173`` holds the operations as an Arrow IPC file and everything else
as JSON; a second anomaly of the same step gets ``step-000173-2``. The folder appears
under that name when it is complete.
"""

import dataclasses
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ftlab.records.errors import RunFolderError
from ftlab.records.plain_files import open_file
from ftlab.records.printable import printable
from ftlab.records.texts import Excerpt, Listing, SampleText
from ftlab.records.trace import Trace, TracedLink, TracedOp
from ftlab.runlog.codec import dumps, from_json, loads
from ftlab.runlog.disk import replace
from ftlab.runlog.folder import check_version
from ftlab.runlog.schema import TRACE, VERSION

FOLDER = "anomalies"
OPS, REST = "ops.arrow", "trace.json"
_NAME = re.compile(r"step-(\d{6,})(?:-(\d+))?$")
_NUMBERS = pa.list_(pa.int64())
_TYPES: Mapping[str, pa.DataType] = {
    **dict.fromkeys(("index", "forward"), pa.int32()),
    **dict.fromkeys(("parents", "shape"), _NUMBERS),
    **dict.fromkeys(("low", "high"), pa.float64()),
    **dict.fromkeys(("nans", "infs"), pa.int64()),
}
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)


def write_trace(rank_folder: Path, trace: Trace) -> Path:
    """Write ``trace`` into the log of a rank; return the new folder.

    Raises
    ------
    OSError
        When the disk is full, for example; nothing is left behind then.
    """
    base = rank_folder / FOLDER
    path, number = base / f"step-{trace.step:06d}", 2
    while path.exists():
        path, number = base / f"step-{trace.step:06d}-{number}", number + 1
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.mkdir(parents=True)
        replace(part / OPS, _ops_file(trace))
        replace(part / REST, (dumps(_rest(trace)) + "\n").encode())
        part.rename(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return path


def trace_folders(rank_folder: Path) -> dict[int, list[Path]]:
    """Return the folders of the traces that a rank has logged, by step, in order."""
    found: dict[int, list[tuple[int, Path]]] = {}
    for path in (rank_folder / FOLDER).glob("step-*"):
        match = _NAME.match(path.name)
        if match is not None:
            number = int(match[2] or 1)
            found.setdefault(int(match[1]), []).append((number, path))
    return {step: [p for _, p in sorted(found[step])] for step in sorted(found)}


def read_trace(path: str | Path) -> Trace:
    """Read what `write_trace` has written.

    Raises
    ------
    RunFolderError
        When something is missing or damaged.
    SchemaError
        When a newer ftlab has written it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ftlab.records.trace import Trace, TracedOp
    >>> from ftlab.runlog.traces import read_trace, write_trace
    >>> log = TracedOp(0, "aten.log.default", module="mlp", dtype="float32", infs=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_trace(Path(folder), Trace(173, 0, (log,), culprit=0))
    ...     path.name, read_trace(path).ops
    ('step-000173', (0 aten.log.default, forward, in mlp: float32[], 1 Inf,))
    """
    path = Path(path)
    rest = _read_rest(path / REST)
    table = _read_ops(path / OPS)
    try:
        return _trace(rest, table)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error


# -- writing


def _ops_file(trace: Trace) -> bytes:
    columns: dict[str, Any] = {}
    for name in TRACE:
        values = [getattr(each, name) for each in trace.ops]
        kind = _TYPES.get(name)
        plain = pa.array(values, pa.string() if kind is None else kind)
        columns[name] = plain.dictionary_encode() if kind is None else plain
    metadata = {"ftlab.schema": str(VERSION), "ftlab.rows": str(len(trace.ops))}
    metadata |= {f"unit:{name}": column.unit for name, column in TRACE.items()}
    table = pa.table(columns).replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=_OPTIONS) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _rest(trace: Trace) -> dict[str, Any]:
    fields = {
        field.name: getattr(trace, field.name)
        for field in dataclasses.fields(trace)
        if field.name != "ops"
    }
    for name in ("chain", "batch_text", "source"):
        fields[name] = [dataclasses.asdict(each) for each in fields[name]]
    return {"schema": VERSION, "operations": len(trace.ops), **fields}


# -- reading


def _read_rest(file: Path) -> dict[str, Any]:
    try:
        with open_file(file) as opened:
            rest = loads(opened.read())
    except FileNotFoundError as error:
        raise _damaged(file.parent, f"it has no {file.name}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(file, error) from error
    check_version(rest, file)
    return dict(_clean(rest))


def _read_ops(file: Path) -> pa.Table:
    try:
        with open_file(file), pa.memory_map(str(file)) as source:
            table = pa.ipc.open_file(source).read_all()
            table.validate(full=True)
            return table
    except FileNotFoundError as error:
        raise _damaged(file.parent, f"it has no {file.name}") from error
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file, error) from error


def _trace(rest: dict[str, Any], table: pa.Table) -> Trace:
    if table.num_rows != rest["operations"]:
        msg = f"{table.num_rows} of {rest['operations']} operations are there"
        raise ValueError(msg)
    known = _known(Trace, rest)
    made: dict[str, Any] = {
        "ops": tuple(_ops(table)),
        "sources": tuple(map(str, known["sources"])),
        "chain": tuple(_make(TracedLink, each) for each in known["chain"]),
        "batch_text": Listing(_make(SampleText, e) for e in known["batch_text"]),
        "source": Listing(_make(Excerpt, each) for each in known["source"]),
    }
    trace = Trace(**{**known, **made})
    _check(trace)
    return trace


def _ops(table: pa.Table) -> list[TracedOp]:
    names = [name for name in TRACE if name in table.column_names]
    columns = [_values(table.column(name)) for name in names]
    rows = zip(*columns, strict=True)
    return [_make(TracedOp, dict(zip(names, row, strict=True))) for row in rows]


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if not pa.types.is_dictionary(column.type):
        return values
    clean = {each: _clean(each) for each in set(values)}
    return [clean[each] for each in values]


def _clean(value: Any) -> Any:
    """Make texts of a log printable: somebody else may have written it."""
    if isinstance(value, str):
        return "\n".join(printable(line) for line in value.expandtabs(4).split("\n"))
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        return {key: _clean(each) for key, each in value.items()}
    return value


def _make(kind: Any, values: Mapping[str, Any]) -> Any:
    return from_json(kind, _known(kind, values))


def _known(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in values.items() if name in names}


def _check(trace: Trace) -> None:
    """Refuse what refers to operations that are not there."""
    count, sources = len(trace.ops), len(trace.sources)
    for at, each in enumerate(trace.ops):
        backwards = all(-sources <= parent < at for parent in each.parents)
        if each.index != at or not backwards or not -1 <= each.forward < at:
            msg = f"operation {at} refers to others that are not before it"
            raise ValueError(msg)
    if any(len(each.pieces) != len(each.marked) for each in trace.batch_text):
        msg = "not every piece of its batch says whether it is marked"
        raise ValueError(msg)
    if not -1 <= trace.culprit < count:
        msg = f"its culprit is operation {trace.culprit} of {count}"
        raise ValueError(msg)


def _damaged(place: Path, error: object) -> RunFolderError:
    return RunFolderError(
        f"The trace {str(place)!r} cannot be read: {error}. Restore it from a copy, or "
        "remove its folder; the rest of the run is not affected."
    )
